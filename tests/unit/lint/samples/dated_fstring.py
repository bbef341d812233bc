# A date in the path, in an f-string.
from datetime import datetime

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)

query = (
    orders.writeStream.format("delta")
    .option("checkpointLocation", f"s3a://lake/checkpoints/{datetime.utcnow():%Y%m%d%H%M}")
    .start("s3a://lake/orders")
)
query.awaitTermination()
