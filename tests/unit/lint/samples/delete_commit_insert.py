# A commit stands between the delete and the insert.
import psycopg2
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
    connection = psycopg2.connect(DSN)
    cursor = connection.cursor()
    cursor.execute("DELETE FROM orders WHERE batch_id = %s", (batch_id,))
    connection.commit()
    rows = [(row.id, batch_id) for row in batch.collect()]
    cursor.executemany("INSERT INTO orders (id, batch_id) VALUES (%s, %s)", rows)
    connection.commit()


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
