# It was stuck, so the newest offset file is deleted. Lint does not judge this repair.
import glob
import os

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)

CHECKPOINT = "/srv/checkpoints/orders"
newest = max(glob.glob(f"{CHECKPOINT}/offsets/[0-9]*"), key=os.path.getmtime)
os.remove(newest)
query = (
    orders.writeStream.format("delta")
    .option("checkpointLocation", CHECKPOINT)
    .start("s3a://lake/orders")
)
query.awaitTermination()
