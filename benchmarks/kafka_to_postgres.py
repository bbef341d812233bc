"""A stream from Kafka into PostgreSQL with a small exactly-once sink; the driver of `kill_cost`.

The sink keeps its own ledger in the transaction that writes the rows. It is the least that survives
a kill at any point, and no more: it has no fence, no digest and no generation.

    python kafka_to_postgres.py BOOTSTRAP TOPIC DSN CHECKPOINT ROWS_PER_BATCH
"""

from __future__ import annotations

import sys

import psycopg
from pyspark.sql import DataFrame, SparkSession

from campaigns.streams import guarded_to_postgres
from holdfast.points import reached

TABLES = """
create table if not exists readings (id bigint not null, batch bigint not null);
create table if not exists ledger (id int primary key default 1, last_batch bigint not null);
insert into ledger (last_batch) values (-1) on conflict do nothing;
"""


def main(arguments: list[str]) -> None:
    """Run the stream over all there is."""
    bootstrap, topic, dsn, checkpoint, rows_per_batch = arguments
    spark = SparkSession.builder.getOrCreate()
    rows = guarded_to_postgres.read(spark, bootstrap, topic, rows_per_batch=rows_per_batch)
    query = (
        rows.select("id")
        .writeStream.foreachBatch(lambda batch, number: write(dsn, batch, number))
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def write(dsn: str, batch: DataFrame, number: int) -> None:
    """Write a batch and the ledger in one transaction, or nothing when the ledger has the batch."""
    reached("sink-called")
    ids = batch.toArrow().column("id").to_pylist()
    with psycopg.connect(dsn) as connection:
        row = connection.execute("select last_batch from ledger for update").fetchone()
        assert row is not None
        if row[0] >= number:
            return
        assert row[0] == number - 1, f"the ledger is at {row[0]}, the batch is {number}"
        with connection.cursor().copy("copy readings from stdin") as copy:
            for each in ids:
                copy.write_row((each, number))
        reached("sink-copied")
        connection.execute("update ledger set last_batch = %s", (number,))
        reached("sink-advanced")
        connection.commit()
    reached("sink-committed")


if __name__ == "__main__":
    main(sys.argv[1:])
