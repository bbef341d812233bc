"""A stream of files into one of Spark's own sinks, under the guard; the driver of kills.

    python guarded_native.py HOME FORMAT

It reads `HOME/in` and writes `HOME/output`.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

import holdfast as hf


def main(home: str, kind: str) -> None:
    """Write the files in `HOME/in`, one in a batch, to `HOME/output`."""
    spark = SparkSession.builder.getOrCreate()
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(f"{home}/in")
    query = hf.start(
        lines,
        stream="readings",
        into=hf.Native(kind, path=f"{home}/output"),
        root=f"{home}/streams",
        trigger={"availableNow": True},
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
