# Restart the query to recover from the error.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)

while True:
    try:
        query = (
            orders.writeStream.format("delta")
            .option("checkpointLocation", "s3a://lake/checkpoints/orders")
            .start("s3a://lake/orders")
        )
        query.awaitTermination()
    except Exception as error:
        print("starting again", error)
