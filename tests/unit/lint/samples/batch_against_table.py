# Rows that the table has are left out.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def save(batch, batch_id):
    there = spark.read.table("orders").select("id")
    batch.join(there, "id", "left_anti").write.mode("append").saveAsTable("orders")


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
