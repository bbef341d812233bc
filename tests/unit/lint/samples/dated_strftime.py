# A date in the path, by strftime and +.
from datetime import datetime

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()
orders = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", "broker:9092")
    .option("subscribe", "orders")
    .load()
)

stamp = datetime.now().strftime("%Y%m%d")

query = (
    orders.writeStream.format("delta")
    .option("checkpointLocation", "s3a://lake/checkpoints/" + stamp)
    .start("s3a://lake/orders")
)
query.awaitTermination()
