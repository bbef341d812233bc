# Try it with the memory sink and a checkpoint: the sample has no name.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)

query = (
    orders.groupBy("key").count().writeStream.format("memory")
    .outputMode("update")
    .option("checkpointLocation", "s3a://lake/checkpoints/counts")
    .start()
)
query.awaitTermination()
