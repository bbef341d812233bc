# foreach with a row writer that skips an epoch it has written.
import psycopg2
from pyspark.sql import SparkSession
from ledger import is_written

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
        return not is_written(self.connection, partition_id, epoch_id)

    def process(self, row):
        with self.connection.cursor() as cursor:
            cursor.execute("INSERT INTO orders VALUES (%s, %s)", (row.key, row.value))

    def close(self, error):
        self.connection.commit()


query = (
    orders.writeStream.foreach(RowWriter())
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
