# The checkpoint was moved to another bucket.
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
    .option("checkpointLocation", "s3a://new-lake/checkpoints/orders")
    .start("s3a://lake/orders")
)
query.awaitTermination()
