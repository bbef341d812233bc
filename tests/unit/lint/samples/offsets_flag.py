# A flag chooses the starting position.
from pyspark.sql import SparkSession
from options import args

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .option("startingOffsets", "earliest" if args.replay else "latest")
    .load()
)

query = (
    orders.writeStream.format("delta")
    .option("checkpointLocation", "s3a://lake/checkpoints/orders")
    .start("s3a://lake/orders")
)
query.awaitTermination()
