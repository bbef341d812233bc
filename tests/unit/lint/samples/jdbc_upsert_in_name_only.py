# The function is called upsert, and appends twice.
from pyspark.sql import SparkSession

URL = "jdbc:postgresql://db/shop"
spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def upsert(batch, batch_id):
    """Upsert the batch into PostgreSQL."""
    batch.write.jdbc(URL, "orders", mode="append")
    batch.write.jdbc(URL, "orders_history", mode="append")


query = (
    orders.writeStream.foreachBatch(upsert)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
