# A fixed txnAppId for each of two tables.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def save(batch, batch_id):
    good = batch.where("value is not null")
    bad = batch.where("value is null")
    for name, rows in (("orders", good), ("rejected", bad)):
        (
            rows.write.format("delta")
            .mode("append")
            .option("txnAppId", f"ingest/{name}")
            .option("txnVersion", batch_id)
            .save(f"s3a://lake/{name}")
        )


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
