"""A client that runs a guarded stream on a Spark Connect server.

    python client.py ADDRESS DIRECTORY SHAPE [OPTION]...

Options: `takeover`; `for-ever`, which goes on until it is stopped; `stops`, which stops it once a
batch is through; `unwatched`, which ends once the stream has started; `fragile`, whose task kills
its executor in the middle of its rows if the directory has the file `fragile`;
`driverBatchBytes=BYTES`, which may wait in the worker. The last line says how.

`races` starts the stream once for each line that is read, with the options of that line.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import holdfast as hf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

APPENDED, COUNTS, LAKE, LAKE_COUNTS = "appended", "counts", "lake", "lake-counts"
RACES, RACED = "races", "RACED"
FRAGILE = FUSE = "fragile"
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
TRIES = 5
BUDGET = "driverBatchBytes"


def fall_in_task(df: DataFrame, home: Path) -> DataFrame:
    """Have the first task that comes by the middle of a file kill its executor, once."""
    fuse = str(home / FUSE)

    def fall(number: int) -> int:
        import os  # noqa: PLC0415 - this function is sent to the executors, without this module
        import signal  # noqa: PLC0415

        import psutil  # noqa: PLC0415

        if number % 50 == 25 and os.path.exists(fuse):  # noqa: PTH110
            (jvm,) = (each for each in psutil.Process().parents() if EXECUTOR in each.cmdline())
            os.rename(fuse, f"{fuse}.{jvm.pid}")  # noqa: PTH104
            os.kill(jvm.pid, signal.SIGKILL)
            signal.pause()
        return number

    return df.withColumn("id", f.udf(fall, "long")("id"))


def sink_of(shape: str, home: Path) -> hf.SinkSpec:
    """Return what a stream of a shape writes into."""
    keys = ["k"] if shape in (COUNTS, LAKE_COUNTS) else []
    if shape in (LAKE, LAKE_COUNTS):
        return hf.Delta(path=str(home / shape), keys=keys)
    return hf.Postgres("env:DSN", table=shape, keys=keys)


def main(address: str, directory: str, shape: str, *options: str) -> None:
    """Start the stream, and wait for its end."""
    spark = SparkSession.builder.remote(address).getOrCreate()
    for option in (each for each in options if each.startswith(BUDGET)):
        spark.conf.set(f"spark.holdfast.{BUDGET}", option.removeprefix(f"{BUDGET}="))
    home = Path(directory)
    rows = spark.readStream.schema("id long, k string").option("maxFilesPerTrigger", 1)
    df, mode = rows.json(str(home / "in")), "append"
    if FRAGILE in options:
        df = fall_in_task(df, home)
    if shape in (COUNTS, LAKE_COUNTS):
        df = df.groupBy("k").agg(f.count("*").alias("n"), f.sum("id").alias("total"))
        mode = "update"
    for_ever: dict[str, Any] = {"processingTime": "0 seconds"}
    query = hf.start(
        df,
        stream=shape,
        into=sink_of(shape, home),
        root=str(home / "streams"),
        outputMode=mode,
        trigger=for_ever if "for-ever" in options else {"availableNow": True},
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


def race(*given: str) -> None:
    """Start the stream for each line, and say after each how that ended."""
    for line in sys.stdin:
        try:
            main(*given, *line.split())
        except (hf.HoldfastError, PySparkException) as error:
            told = getattr(error, "code", "") or type(error).__name__
            print(f"{RACED} {told}", flush=True)
        else:
            print(f"{RACED} ended", flush=True)


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
    if RACES in sys.argv:
        race(*(each for each in sys.argv[1:] if each != RACES))
    else:
        try_again(*sys.argv[1:])
