# The batch id decides whether a batch is written at all.
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from ledger import last_batch_of

URL = "jdbc:postgresql://db/shop"
spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def save(batch, batch_id):
    if batch_id <= last_batch_of("orders"):
        return
    rows = batch.withColumn("batch_id", F.lit(batch_id))
    rows.write.jdbc(URL, "orders", mode="append")


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
