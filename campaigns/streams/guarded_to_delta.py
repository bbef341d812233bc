"""A stream of files into Delta as a user of Holdfast writes it; the driver of `kills`.

    python guarded_to_delta.py FILES LAKE ROOT SHAPE [--gate PIPE] [--takeover]

With a gate it starts Spark, says that it is `ready`, and starts the stream when a line comes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from holdfast.drills.programs import builtin
from holdfast.points import reached


def appended(rows: DataFrame, lake: str) -> dict[str, Any]:
    """Every row, as it is."""
    return {"df": rows, "into": hf.Delta(path=f"{lake}/table")}


def merged(rows: DataFrame, lake: str) -> dict[str, Any]:
    """The newest row of every key."""
    keyed = builtin.merge(lambda: rows)
    return {"df": keyed, "into": hf.Delta(path=f"{lake}/table", keys=["key"], sequence_by="id")}


def fan_out(rows: DataFrame, lake: str) -> dict[str, Any]:
    """Every row with a name that chance gives it, into two tables."""
    named = rows.select("id", F.expr("uuid()").alias("name"))
    return {"df": named, "into": [hf.Delta(path=f"{lake}/{each}") for each in ("table", "copy")]}


SHAPES = {shape.__name__: shape for shape in (appended, merged, fan_out)}


def read(spark: SparkSession, files: str) -> DataFrame:
    """Return the files as rows, one file per batch."""
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(files)
    return lines.select(F.col("value").cast("long").alias("id"))


def begin(shape: dict[str, Any], *, root: str, takeover: bool = False) -> Any:
    """Start the stream over all there is."""
    return hf.start(
        **shape,
        stream="readings",
        root=root,
        trigger={"availableNow": True},
        takeover=takeover,
    )


def main() -> None:
    """Run the stream to its end."""
    parser = argparse.ArgumentParser()
    for name in ("files", "lake", "root", "shape"):
        parser.add_argument(name)
    parser.add_argument("--gate", type=Path)
    parser.add_argument("--takeover", action="store_true")
    asked = parser.parse_args()
    spark = SparkSession.builder.getOrCreate()
    reached("session")
    rows = read(spark, asked.files)
    if asked.gate:
        reached("ready")
        with asked.gate.open() as gate:
            gate.readline()
    shape = SHAPES[asked.shape](rows, asked.lake)
    query = begin(shape, root=asked.root, takeover=asked.takeover)
    reached("started")
    query.awaitTermination()


if __name__ == "__main__":
    main()
