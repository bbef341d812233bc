# A staging table is replaced, and merged by key.
import psycopg
from pyspark.sql import SparkSession

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
    batch.write.jdbc(URL, "staging", mode="overwrite")
    with psycopg.connect(DSN) as connection:
        connection.execute(
            "insert into orders select * from staging on conflict (id) do update set n = excluded.n"
        )


query = (
    orders.writeStream.foreachBatch(save)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
