# Another job with the checkpoint of the first one.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()

stream = spark.readStream.format("kafka").option("subscribe", "payments").load()


def save(batch, batch_id):
    batch.write.mode("overwrite").parquet(f"s3a://lake/payments/{batch_id}")


query = (
    stream.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/shop")
    .start()
)
query.awaitTermination()
