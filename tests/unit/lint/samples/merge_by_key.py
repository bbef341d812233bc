# A MERGE by key: a repeated batch changes nothing.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def upsert(batch, batch_id):
    batch.createOrReplaceTempView("updates")
    batch.sparkSession.sql(
        "MERGE INTO orders t USING updates s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


query = (
    orders.writeStream.foreachBatch(upsert)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
