# Delete by batch id through a connection, then append through Spark.
import psycopg
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

DSN = "postgresql://db/shop"
URL = "jdbc:postgresql://db/shop"
spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def save(batch, batch_id):
    with psycopg.connect(DSN) as connection:
        connection.execute("DELETE FROM orders WHERE batch_id = %s", (batch_id,))
    rows = batch.withColumn("batch_id", F.lit(batch_id))
    rows.write.jdbc(URL, "orders", mode="append")


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
