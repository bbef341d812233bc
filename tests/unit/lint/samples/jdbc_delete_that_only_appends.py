# The comment says delete, then insert. The code only appends.
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

URL = "jdbc:postgresql://db/shop"
spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)


def write_to_postgres(df, epoch_id):
    # Delete the rows of this batch, then insert them again.
    df.withColumn("epoch", F.lit(epoch_id)).write.jdbc(URL, "orders", mode="append")


query = (
    orders.writeStream.foreachBatch(write_to_postgres)
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start()
)
query.awaitTermination()
