# The checkpoint is deleted before every start, to reprocess everything.
import shutil

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)

CHECKPOINT = "/srv/checkpoints/orders"
shutil.rmtree(CHECKPOINT, ignore_errors=True)
query = (
    orders.writeStream.format("delta")
    .option("checkpointLocation", CHECKPOINT)
    .start("s3a://lake/orders")
)
query.awaitTermination()
