"""One stream per operator, as users write them: what each reads, keeps and writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

import holdfast as hf

SCHEMA = "id long, kind string, amount long, at timestamp"
DELAY = "10 minutes"
WINDOW = "10 minutes"
REMEMBERED = "6 hours"
"""Longer than an id takes to come again, and shorter than the latest row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A stream of one operator."""

    name: str
    mode: str
    change: Callable[[Any, Any], Any]
    """From the rows of the source, and a table of kinds, to what is written."""
    keys: tuple[str, ...] = field(default=())
    """That the sink merges by; none when it appends."""

    def pipeline(self, home: Path) -> Any:
        """Return a pipeline with this stream alone."""
        pipeline = hf.Pipeline(self.name, root=str(home / "streams"))
        sink = hf.Delta(path=str(home / self.name), keys=list(self.keys))

        def read(spark: Any) -> Any:
            reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
            kinds = spark.read.format("delta").option("versionAsOf", 0).load(str(home / "kinds"))
            return self.change(reader.json(str(home / "in")), kinds)

        pipeline.stream(self.name, into=sink, outputMode=self.mode)(read)
        return pipeline


def _counts(rows: Any, _: Any) -> Any:
    summed = (F.count("*").alias("rows"), F.sum("amount").alias("amount"))
    return rows.groupBy("kind").agg(*summed, F.max("at").alias("newest"))


def _windows(rows: Any, _: Any) -> Any:
    by = rows.withWatermark("at", DELAY).groupBy(F.window("at", WINDOW), "kind")
    counted = by.agg(F.count("*").alias("rows"), F.sum("amount").alias("amount"))
    return counted.select(F.col("window.start").alias("start"), "kind", "rows", "amount")


def _sliding(rows: Any, _: Any) -> Any:
    by = rows.withWatermark("at", DELAY).groupBy(F.window("at", WINDOW, "5 minutes"), "kind")
    counted = by.agg(F.count("*").alias("rows"), F.sum("amount").alias("amount"))
    return counted.select(F.col("window.start").alias("start"), "kind", "rows", "amount")


def _once(rows: Any, _: Any) -> Any:
    return rows.dropDuplicates(["id"])


def _once_by_time(rows: Any, _: Any) -> Any:
    return rows.withWatermark("at", DELAY).dropDuplicates(["id", "at"])


def _within(rows: Any, _: Any) -> Any:
    return rows.withWatermark("at", REMEMBERED).dropDuplicatesWithinWatermark(["id"])


def _joined(rows: Any, kinds: Any) -> Any:
    return rows.join(kinds, "kind", "left")


OPERATORS = {
    each.name: each
    for each in (
        Operator(name="counts", mode="update", change=_counts, keys=("kind",)),
        Operator(name="totals", mode="complete", change=_counts, keys=("kind",)),
        Operator(name="windows", mode="update", change=_windows, keys=("start", "kind")),
        Operator(name="closed-windows", mode="append", change=_windows),
        Operator(name="sliding-windows", mode="update", change=_sliding, keys=("start", "kind")),
        Operator(name="duplicates", mode="append", change=_once),
        Operator(name="duplicates-by-time", mode="append", change=_once_by_time),
        Operator(name="duplicates-within", mode="append", change=_within),
        Operator(name="joined", mode="append", change=_joined),
    )
}
