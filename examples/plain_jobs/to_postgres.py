"""Orders into PostgreSQL, appended batch by batch."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

URL = "jdbc:postgresql://db/shop"


def save(batch: DataFrame, batch_id: int) -> None:
    """Append a batch."""
    print("batch", batch_id)
    batch.write.jdbc(URL, "orders", mode="append")


def main() -> None:
    """Run until it is stopped."""
    spark = SparkSession.builder.appName("orders").getOrCreate()
    orders = spark.readStream.format("delta").load("s3a://lake/bronze/orders")
    query = (
        orders.writeStream.foreachBatch(save)
        .option("checkpointLocation", "s3a://lake/checkpoints/orders")
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main()
