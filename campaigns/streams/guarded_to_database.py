"""A stream from Kafka into a database as a user of Holdfast writes it; for `database_kills`.

    python guarded_to_database.py BOOTSTRAP TOPIC ROOT ROWS_PER_BATCH SHAPE

The environment names the database to write to: SERVING_URL.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from campaigns.streams.guarded_to_postgres import read

URL = "env:SERVING_URL"


def appended(rows: DataFrame) -> dict[str, Any]:
    """Every row, as it is."""
    return {"df": rows, "into": hf.Database(URL, table="readings")}


def merged(rows: DataFrame) -> dict[str, Any]:
    """Every row, by its key."""
    sink = hf.Database(URL, table="readings", keys=["id"], sequence_by="offset")
    return {"df": rows, "into": sink}


def counts(rows: DataFrame) -> dict[str, Any]:
    """How often each key has come so far: state, and rows that replace older ones."""
    counted = rows.groupBy(F.expr("id * id % 97").alias("key")).count()
    sink = hf.Database(URL, table="readings", keys=["key"], sequence_by="count")
    return {"df": counted, "into": sink, "outputMode": "update"}


SHAPES = {shape.__name__: shape for shape in (appended, merged, counts)}


def main(arguments: list[str]) -> None:
    """Run the stream to its end."""
    bootstrap, topic, root, rows_per_batch, shape = arguments
    spark = SparkSession.builder.getOrCreate()
    rows = read(spark, bootstrap, topic, rows_per_batch=rows_per_batch)
    query = hf.start(
        **SHAPES[shape](rows), stream="readings", root=root, trigger={"availableNow": True}
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
