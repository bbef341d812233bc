# Two queries of one program with one checkpoint.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)

CHECKPOINT = "s3a://lake/checkpoints/shop"
orders.writeStream.option("checkpointLocation", CHECKPOINT).toTable("orders")
big = orders.where("value > 100")
big.writeStream.option("checkpointLocation", CHECKPOINT).toTable("big_orders")
spark.streams.awaitAnyTermination()
