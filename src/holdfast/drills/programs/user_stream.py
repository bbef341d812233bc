"""Runs a user's own stream over all of the sample; keeps what is then in its sink and its state.

python user_stream.py '{"target": "app:start", "sample": …, "home": …, "rows": …, "state": …, …}'
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from holdfast.drills.batch_runs import STARTED
from holdfast.drills.pipeline_sandbox import read_tables, run_pipeline
from holdfast.drills.programs.drill_session import open_session
from holdfast.drills.programs.kept_state import keep_state
from holdfast.drills.scratch import Scratch, keep_rows
from holdfast.named import load_named
from holdfast.points import reached
from holdfast.streams.pipeline import Pipeline


def main(config: dict[str, Any]) -> None:
    """Start what the target starts, wait until it has read all, and look."""
    spark = open_session()
    sample = config["sample"]
    scratch = Scratch(home=Path(config["home"]), sample=sample and Path(sample))
    target = load_named(config["target"])
    if isinstance(target, Pipeline):
        found = read_tables(spark, run_pipeline(spark, scratch, target))
    else:
        queries = _queries(target(spark, scratch))
        reached(STARTED)
        for query in queries:
            query.processAllAvailable()
            query.stop()
        read = load_named(config["read"]) if config["read"] else _read_sink
        frames = read(spark, scratch)
        found = list(frames.items()) if isinstance(frames, Mapping) else [("sink", frames)]
    keep_state(spark, scratch.home, Path(config["state"]))
    keep_rows(found, Path(config["rows"]))


def _read_sink(spark: SparkSession, scratch: Scratch) -> DataFrame:
    return scratch.rows(spark)


def _queries(started: Any) -> Iterable[Any]:
    """Return the queries of what a function gave back: one, several, or several by their names."""
    if isinstance(started, Mapping):
        return list(started.values())
    return list(started) if isinstance(started, Iterable) else [started]


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
