# An error of the function is printed, and the batch is committed.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def save(batch, batch_id):
    try:
        batch.write.mode("overwrite").parquet(f"s3a://lake/orders/{batch_id}")
    except Exception as error:
        print("batch failed", batch_id, error)


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
