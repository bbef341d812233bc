"""Runs a stream whose right answer is known, guarded.

python builtin.py '{"files": …, "shape": "append", "sinks": [{"kind": "delta", …}], "root": …, …}'
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from holdfast.drills.builtin.kinds import KINDS
from holdfast.drills.builtin.workload import KEYS, LATE_BY, LATE_ONE_IN, ROWS_PER_FILE
from holdfast.drills.programs.drill_session import open_session
from holdfast.drills.programs.kept_state import keep_state

Source = Callable[[], DataFrame]
"""Opens the source: every time it is one more."""


def append(source: Source) -> DataFrame:
    """Every row, as it is."""
    return source()


def merge(source: Source) -> DataFrame:
    """Every row with its key; some come late, and must not replace a newer one."""
    number = F.col("id") - F.when(F.col("id") % LATE_ONE_IN == 0, LATE_BY).otherwise(0)
    return source().select((F.col("id") % KEYS).alias("key"), number.alias("id"))


def counts(source: Source) -> DataFrame:
    """How often each key has come so far: with state."""
    return source().groupBy((F.col("id") % KEYS).alias("key")).count()


def join(source: Source) -> DataFrame:
    """Every row with the one a file later, which comes in the next batch: with state."""
    later = source().withColumnRenamed("id", "later")
    return source().join(later, F.col("later") - ROWS_PER_FILE == F.col("id"))


SHAPES = {shape.__name__: shape for shape in (append, merge, counts, join)}
MODES = {"append": "append", "merge": "append", "counts": "update", "join": "append"}
KEYED: dict[str, dict[str, Any]] = {
    "merge": {"keys": ["key"], "sequence_by": "id"},
    "counts": {"keys": ["key"], "sequence_by": "count"},
}


def main(spark: SparkSession, config: Mapping[str, Any]) -> None:
    """Run the stream, and keep what is in its state afterwards."""
    run(spark, config)
    keep_state(spark, Path(config["root"]), Path(config["state"]))


def run(spark: SparkSession, config: Mapping[str, Any]) -> None:
    """Run the stream over all there is."""
    run_query(read(spark, config), config)


def run_query(frame: DataFrame, config: Mapping[str, Any]) -> None:
    """Write what a stream gives into its sinks, until there is no more."""
    shape = config["shape"]
    query = hf.start(
        frame,
        stream=config["stream"],
        into=[
            KINDS[each["kind"]].sink(each["table"], **KEYED.get(shape, {}))
            for each in config["sinks"]
        ],
        root=config["root"],
        outputMode=MODES[shape],
        trigger={"availableNow": True},
    )
    query.awaitTermination()


def read(spark: SparkSession, config: Mapping[str, Any]) -> DataFrame:
    """Give the session the stream's settings; return what the stream writes."""
    for name, value in config["settings"].items():
        spark.conf.set(name, value)

    def source() -> DataFrame:
        reader = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        return reader.load(config["files"]).select(F.col("value").cast("long").alias("id"))

    return SHAPES[config["shape"]](source)


if __name__ == "__main__":
    main(open_session(), json.loads(sys.argv[1]))
