# startingOffsets for the first start.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .option("startingOffsets", "earliest")  # the first start only; later starts use the checkpoint
    .load()
)

query = (
    orders.writeStream.format("delta")
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start("s3a://lake/orders")
)
query.awaitTermination()
