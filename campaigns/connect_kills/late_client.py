"""A stream of a topic into PostgreSQL: a client of Spark Connect, and what a classic session says.

    python late_client.py start ADDRESS ROOT BROKER TOPIC [OPTION]...
    python late_client.py prove ROOT BROKER TOPIC

Options: `takeover`; `for-ever`, which goes on until it is stopped.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf

STREAM = "readings"
REFUSED = 3
"""How a client ends that Holdfast has refused."""
INTO = hf.Postgres("env:DSN", table=STREAM)


def read(spark: SparkSession, broker: str, topic: str) -> DataFrame:
    """Return the stream: each record's number in the topic."""
    rows = spark.readStream.format("kafka").option("kafka.bootstrap.servers", broker)
    rows = rows.option("subscribe", topic).option("startingOffsets", "earliest")
    return rows.load().selectExpr("offset", "CAST(value AS STRING) AS value")


def start(address: str, root: str, *more: str) -> None:
    """Start the stream, and wait for its end."""
    broker, topic, *options = more
    spark = SparkSession.builder.remote(address).getOrCreate()
    trigger: dict[str, Any] = {"availableNow": True}
    if "for-ever" in options:
        trigger = {"processingTime": "0 seconds"}
    query = hf.start(
        read(spark, broker, topic),
        stream=STREAM,
        into=INTO,
        root=root,
        trigger=trigger,
        takeover="takeover" in options,
    )
    print("STARTED", flush=True)
    query.awaitTermination()
    print("ENDED", flush=True)


def prove(root: str, broker: str, topic: str) -> None:
    """Prove the table with a classic session."""
    spark = SparkSession.builder.getOrCreate()
    pipeline = hf.Pipeline("late", root=root)
    pipeline.stream(STREAM, into=INTO)(lambda session: read(session, broker, topic))
    (table,) = pipeline.prove(spark).tables
    found = table.compared
    told = "" if found is None else f"{found.lost} lost, {found.duplicated} duplicated"
    print(f"PROVED {table.verdict.value}: {told}{table.reason}", flush=True)
    spark.stop()


if __name__ == "__main__":
    verb, *given = sys.argv[1:]
    try:
        start(*given) if verb == "start" else prove(*given)
    except hf.HoldfastError as error:
        print(f"REFUSED {error.code} {error}", flush=True)
        os._exit(REFUSED)
    except PySparkException as error:
        print(f"FAILED {error}", flush=True)
        os._exit(1)
