# Duplicates are dropped within the batch, not against the table.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def save(batch, batch_id):
    unique = batch.dropDuplicates(["id"])
    unique.write.format("delta").mode("append").saveAsTable("orders")


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
