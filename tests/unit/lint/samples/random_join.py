# A random id in the path, by join.
import uuid

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)

run = str(uuid.uuid4())

query = (
    orders.writeStream.format("delta")
    .option("checkpointLocation", "/".join(["s3a://lake/checkpoints", run]))
    .start("s3a://lake/orders")
)
query.awaitTermination()
