# foreach with a function that sends each row.
from pyspark.sql import SparkSession
import requests

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def send(row):
    requests.post("http://api/orders", json=row.asDict())


query = (
    orders.writeStream.foreach(send)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
