"""Every order as it came, into a Delta table."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

CHECKPOINTS = sys.argv[1] if len(sys.argv) > 1 else "s3a://lake/checkpoints"


def main() -> None:
    """Run until it is stopped."""
    spark = SparkSession.builder.appName("bronze").getOrCreate()
    orders = spark.readStream.format("kafka").option("subscribe", "orders").load()
    query = (
        orders.writeStream.format("delta")
        .option("checkpointLocation", f"{CHECKPOINTS}/bronze")
        .trigger(processingTime="1 minute")
        .start("s3a://lake/bronze/orders")
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
