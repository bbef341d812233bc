"""A stream of files into a directory of files as a user writes it; the driver of `files_kills`.

python guarded_to_files.py FILES LAKE ROOT SHAPE
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from campaigns.streams.guarded_to_delta import begin, read

PARTITIONS = 5


def parquet(rows: DataFrame, lake: str) -> dict[str, Any]:
    """Every row, in two files for each batch."""
    return {"df": rows.repartition(2), "into": hf.Files(f"{lake}/out")}


def json(rows: DataFrame, lake: str) -> dict[str, Any]:
    """Every row, as a line of JSON."""
    return {"df": rows.repartition(2), "into": hf.Files(f"{lake}/out", format="json")}


def csv(rows: DataFrame, lake: str) -> dict[str, Any]:
    """Every row, as a line of CSV."""
    return {"df": rows.repartition(2), "into": hf.Files(f"{lake}/out", format="csv")}


def partitioned(rows: DataFrame, lake: str) -> dict[str, Any]:
    """Every row, in a directory for each remainder."""
    parts = rows.withColumn("part", (F.col("id") % PARTITIONS).cast("int"))
    return {"df": parts, "into": hf.Files(f"{lake}/out", partition_by=["part"])}


def distinct(rows: DataFrame, lake: str) -> dict[str, Any]:
    """Every row, once it was looked up in the state."""
    return {"df": rows.dropDuplicates(["id"]), "into": hf.Files(f"{lake}/out")}


SHAPES = {shape.__name__: shape for shape in (parquet, json, csv, partitioned, distinct)}


def main(arguments: list[str]) -> None:
    """Run the stream to its end."""
    files, lake, root, shape = arguments
    spark = SparkSession.builder.getOrCreate()
    begin(SHAPES[shape](read(spark, files), lake), root=root).awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1:])
