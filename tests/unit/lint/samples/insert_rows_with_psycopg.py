# Rows are inserted by a driver connection, with the batch id beside them.
import psycopg
from pyspark.sql import SparkSession

DSN = "postgresql://db/shop"
spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def save(batch, batch_id):
    rows = [(row.id, batch_id) for row in batch.collect()]
    with psycopg.connect(DSN) as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO orders (id, batch_id) VALUES (%s, %s)", rows)


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
