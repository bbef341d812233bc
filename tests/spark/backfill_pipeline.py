"""A stream that began in the middle of a topic, and its backfill as a program that can be killed.

python backfill_pipeline.py '{"servers": …, "topic": …, "root": …, "delta": …, "merges": false, …}'
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

import holdfast as hf
from holdfast.drills.programs.drill_session import open_session

STREAM = "readings"
MERGING: dict[str, Any] = {"keys": ["key"], "sequence_by": "number"}


def pipeline(config: Mapping[str, Any]) -> hf.Pipeline:
    """Return a pipeline with one stream: from a topic into a Delta table and PostgreSQL."""
    lake = hf.Pipeline("lake", root=config["root"])
    merging = MERGING if config["merges"] else {}
    sinks: list[Any] = [
        hf.Delta(path=config["delta"], **merging),
        hf.Postgres("env:BACKFILL_DSN", table="readings", **merging),
    ]

    @lake.stream(STREAM, into=sinks[config.get("first", 0) : config.get("sinks", 2)])
    def readings(spark: Any) -> DataFrame:
        reader = spark.readStream.format("kafka").option("subscribe", config["topic"])
        reader = reader.option("kafka.bootstrap.servers", config["servers"])
        reader = reader.option("startingOffsets", config.get("starting", "latest"))
        number = "CAST(CAST(value AS string) AS long)"
        found: DataFrame = reader.load().selectExpr(f"{number} % 10 AS key", f"{number} AS number")
        return found

    return lake


def main() -> None:
    """Backfill what the arguments say, to the end."""
    config = json.loads(sys.argv[1])
    asked = {name: config[name] for name in ("start", "end", "chunk")}
    print(hf.backfill(pipeline(config), open_session(), STREAM, **asked))


if __name__ == "__main__":
    main()
