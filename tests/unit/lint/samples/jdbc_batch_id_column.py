# "Idempotent": the batch id is a column of the rows, and the rows are appended.
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
    # Idempotent: the batch id tells which rows belong to this batch.
    rows = batch.withColumn("batch_id", F.lit(batch_id))
    (
        rows.write.format("jdbc")
        .option("url", "jdbc:postgresql://db/shop")
        .option("dbtable", "orders")
        .mode("append")
        .save()
    )


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
