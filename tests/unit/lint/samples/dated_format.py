# A date in the path, by format.
from datetime import datetime

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)

now = datetime.now()

query = (
    orders.writeStream.format("delta")
    .option("checkpointLocation", "s3a://lake/checkpoints/{:%Y-%m-%d}".format(now))
    .start("s3a://lake/orders")
)
query.awaitTermination()
