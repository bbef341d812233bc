# foreach with a row writer that inserts by key.
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


class RowWriter:
    def open(self, partition_id, epoch_id):
        self.connection = psycopg2.connect(DSN)
        return True

    def process(self, row):
        with self.connection.cursor() as cursor:
            cursor.execute("INSERT INTO orders VALUES (%s, %s) ON CONFLICT (k) DO NOTHING", (row.key, row.value))

    def close(self, error):
        self.connection.commit()


query = (
    orders.writeStream.foreach(RowWriter())
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
