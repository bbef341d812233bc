"""Runs a stream whose right answer is known, guarded.

python known.py '{"files": …, "shape": "append", "sinks": [{"kind": "delta", …}], "root": …, …}'
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from holdfast.drills.known.places import DSN_NAME
from holdfast.drills.known.workload import KEYS, ROWS_PER_FILE
from holdfast.sinks.sink import Sink


def append(rows: DataFrame) -> DataFrame:
    """Every row, as it is."""
    return rows


def merge(rows: DataFrame) -> DataFrame:
    """Every row with its key."""
    return rows.select((F.col("id") % KEYS).alias("key"), "id")


def counts(rows: DataFrame) -> DataFrame:
    """How often each key has come so far: with state."""
    return rows.groupBy((F.col("id") % KEYS).alias("key")).count()


def join(rows: DataFrame) -> DataFrame:
    """Every row with the one a file later, which comes in the next batch: with state."""
    later = rows.select(F.col("id").alias("later"))
    return rows.join(later, F.col("later") - ROWS_PER_FILE == F.col("id"))


SHAPES = {shape.__name__: shape for shape in (append, merge, counts, join)}
KEYED: dict[str, dict[str, Any]] = {
    "merge": {"keys": ["key"], "sequence_by": "id"},
    "counts": {"keys": ["key"], "sequence_by": "count"},
}


def main(config: dict[str, Any]) -> None:
    """Run the stream over all there is."""
    spark = SparkSession.builder.getOrCreate()
    for name, value in config["settings"].items():
        spark.conf.set(name, value)
    source = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(config["files"])
    rows = source.select(F.col("value").cast("long").alias("id"))
    shape = config["shape"]
    query = hf.start(
        SHAPES[shape](rows),
        stream=config["stream"],
        into=[_sink(each, **KEYED.get(shape, {})) for each in config["sinks"]],
        root=config["root"],
        outputMode="update" if shape == "counts" else "append",
        trigger={"availableNow": True},
    )
    query.awaitTermination()


def _sink(place: dict[str, str], **keyed: Any) -> Sink:
    if place["kind"] == "delta":
        return hf.Delta(path=place["table"], **keyed)
    return hf.Postgres(f"env:{DSN_NAME}", table=place["table"], **keyed)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
