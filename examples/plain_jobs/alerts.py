"""Large orders to a Kafka topic, and their totals to a place that is cleaned up."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main() -> None:
    """Run until one of the two fails."""
    spark = SparkSession.builder.appName("alerts").getOrCreate()
    orders = spark.readStream.format("delta").load("s3a://lake/bronze/orders")
    alerts = orders.where("amount > 1000").select(F.to_json(F.struct("*")).alias("value"))
    (
        alerts.writeStream.format("kafka")
        .option("topic", "alerts")
        .option("checkpointLocation", "s3a://lake/checkpoints/alerts")
        .queryName("alerts")
        .start()
    )
    totals = orders.withWatermark("at", "1 hour").groupBy(F.window("at", "1 hour")).sum("amount")
    (
        totals.writeStream.format("parquet")
        .option("checkpointLocation", "/tmp/totals")  # noqa: S108 - what audit is to find
        .queryName("totals")
        .start("s3a://lake/totals")
    )
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
