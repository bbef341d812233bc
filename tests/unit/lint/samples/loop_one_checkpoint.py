# A loop over topics, all with one checkpoint.
from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("orders").getOrCreate()

for topic in ("orders", "payments"):
    stream = spark.readStream.format("kafka").option("subscribe", topic).load()
    (
        stream.writeStream.format("delta")
        .option("checkpointLocation", "s3a://lake/checkpoints/shop")
        .start(f"s3a://lake/{topic}")
    )
spark.streams.awaitAnyTermination()
