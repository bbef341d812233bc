# A delete and an append are two commits of a Delta table.
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def save(batch, batch_id):
    spark.sql(f"DELETE FROM orders WHERE batch_id = {batch_id}")
    rows = batch.withColumn("batch_id", F.lit(batch_id))
    rows.write.format("delta").mode("append").saveAsTable("orders")


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
