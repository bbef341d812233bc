"""A stream of files into Delta as a user of Holdfast writes it; the driver of `delta_kills`.

python guarded_to_delta.py FILES TABLE ROOT SHAPE
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf


def appended(rows: DataFrame, table: str) -> dict[str, Any]:
    """Every row, as it is."""
    return {"df": rows, "into": hf.Delta(path=table)}


def merged(rows: DataFrame, table: str) -> dict[str, Any]:
    """The newest row of every key."""
    keyed = rows.select((F.col("id") % 50).alias("key"), "id")
    return {"df": keyed, "into": hf.Delta(path=table, keys=["key"], sequence_by="id")}


def counts(rows: DataFrame, table: str) -> dict[str, Any]:
    """How often each key has come so far: with state."""
    counted = rows.groupBy((F.col("id") % 50).alias("key")).count()
    sink = hf.Delta(path=table, keys=["key"], sequence_by="count")
    return {"df": counted, "into": sink, "outputMode": "update"}


SHAPES = {shape.__name__: shape for shape in (appended, merged, counts)}


def main(arguments: list[str]) -> None:
    """Run the stream over all there is."""
    files, table, root, shape = arguments
    spark = SparkSession.builder.getOrCreate()
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(files)
    rows = lines.select(F.col("value").cast("long").alias("id"))
    asked = SHAPES[shape](rows, table)
    query = hf.start(**asked, stream="readings", root=root, trigger={"availableNow": True})
    query.awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
