# Rows are inserted once: a conflict clause skips those that are there.
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


INSERT = "INSERT INTO orders (id, n) VALUES (%s, %s) ON CONFLICT (id) DO NOTHING"


def save(batch, batch_id):
    with psycopg.connect(DSN) as connection, connection.cursor() as cursor:
        cursor.executemany(INSERT, [(row.id, row.n) for row in batch.collect()])


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
