"""A client that runs a guarded stream on a Spark Connect server.

    python client.py ADDRESS DIRECTORY SHAPE [OPTION]...

Options: `takeover`; `for-ever`, which goes on until it is stopped; `stops`, which stops it once a
batch is through; `unwatched`, which ends once the stream has started. The last line says how.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import holdfast as hf

APPENDED, COUNTS, LAKE = "appended", "counts", "lake"


TRIES = 5


def main(address: str, directory: str, shape: str, *options: str) -> None:
    """Start the stream, and wait for its end."""
    spark = SparkSession.builder.remote(address).getOrCreate()
    home = Path(directory)
    rows = spark.readStream.schema("id long, k string").option("maxFilesPerTrigger", 1)
    df, mode = rows.json(str(home / "in")), "append"
    into: hf.SinkSpec = hf.Postgres("env:DSN", table=shape)
    if shape == LAKE:
        into = hf.Delta(path=str(home / LAKE))
    if shape == COUNTS:
        df = df.groupBy("k").agg(f.count("*").alias("n"), f.sum("id").alias("total"))
        into, mode = hf.Postgres("env:DSN", table=shape, keys=["k"]), "update"
    trigger: dict[str, Any] = {"availableNow": True}
    if "for-ever" in options:
        trigger = {"processingTime": "0 seconds"}
    query = hf.start(
        df,
        stream=shape,
        into=into,
        root=str(home / "streams"),
        outputMode=mode,
        trigger=trigger,
        takeover="takeover" in options,
    )
    print(f"STARTED {query.id}", flush=True)
    if "stops" in options:
        while query.lastProgress is None:
            query.awaitTermination(1)
        query.stop()
    if "unwatched" not in options:
        query.awaitTermination()
    print("ENDED", flush=True)


def try_again(*given: str) -> None:
    """Start the stream again while the server is too busy to start a worker, as a program would."""
    for _ in range(TRIES):
        try:
            main(*given)
        except hf.HoldfastError as error:
            if error.code != "SERVER_BUSY":
                print(f"REFUSED {error.code} {error.why}", flush=True)
                os._exit(3)
        else:
            return


if __name__ == "__main__":
    try_again(*sys.argv[1:])
