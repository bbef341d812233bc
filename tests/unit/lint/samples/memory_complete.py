# The memory sink in complete mode continues.
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
    .queryName("counts")
    .outputMode("complete")
    .option("checkpointLocation", "s3a://lake/checkpoints/counts")
    .start()
)
query.awaitTermination()
