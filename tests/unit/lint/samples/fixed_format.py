# The same forms, with a fixed name.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)

NAME = "orders"
ROOT = "s3a://lake/%s" % "checkpoints"

query = (
    orders.writeStream.format("delta")
    .option("checkpointLocation", "/".join([ROOT, "{}".format(NAME)]))
    .start("s3a://lake/orders")
)
query.awaitTermination()
