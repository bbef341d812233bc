"""Remedies where the state or the sink of the code changed, or only an error is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

import holdfast as hf
from campaigns.remedies.changed import TableSource, refused
from campaigns.remedies.remedy import (
    Bench,
    CarriedOut,
    NotOfferedError,
    Remedy,
    command_in,
    diagnosed,
)
from campaigns.remedies.streams import DSN, STREAM, FileStream, Row, TotalsStream

BATCHES = 4


@dataclass
class _ChangedTotals(TotalsStream):
    """Totals whose aggregate is another one from some start on; what it gives is the same."""

    is_changed: bool = False
    aggregate: str = "count(1)"
    column: str = "value"

    def frame(self) -> DataFrame:
        """Return the query."""
        if not self.is_changed:
            return super().frame()
        rows = FileStream.frame(self).withColumnRenamed("value", self.column)
        totals = rows.groupBy(self.column).agg(expr(self.aggregate).alias("n"))
        return totals.selectExpr(f"{self.column} AS value", "CAST(n AS BIGINT) AS n")


@dataclass
class _OtherTable(FileStream):
    """The stream gets another table, or merges by another key."""

    is_changed: bool = False
    new_table: str = "readings_new"

    def __post_init__(self) -> None:
        """Create the tables."""
        super().__post_init__()
        self.execute("CREATE TABLE readings_new (value text PRIMARY KEY)")

    def sink(self) -> Any:
        """Return where it writes."""
        if not self.is_changed:
            return super().sink()
        return hf.Postgres(f"env:{DSN}", table=self.new_table, keys=["value"])

    def rows(self) -> list[Row]:
        """Return what the sink holds."""
        with psycopg.connect(self.dsn) as connection:
            return connection.execute("SELECT value FROM readings_new").fetchall()


def _changed_totals(aggregate: str, *, column: str = "value") -> Callable[[Bench, str], CarriedOut]:
    """Return what starts totals with another aggregate, and repairs with what is printed."""

    def carry_out(bench: Bench, code: str) -> CarriedOut:
        stream = _ChangedTotals(bench, aggregate=aggregate, column=column)
        stream.add(BATCHES)
        stream.run()
        stream.is_changed = True
        return refused(stream, code)

    return carry_out


def _renamed(bench: Bench, code: str) -> CarriedOut:
    """Name a column of the state otherwise: a start says so, and goes on."""
    stream = _ChangedTotals(bench, column="word")
    stream.add(BATCHES)
    stream.run()
    stream.is_changed = True
    return stream.repair(code, command=_checked(stream, code))


def _checked(stream: FileStream, code: str) -> str:
    """Return the command that a check of the new code prints."""
    pipeline = hf.Pipeline("remedies", root=str(stream.root))
    pipeline.stream(STREAM, into=stream.sink(), **stream.start_options())(lambda _: stream.frame())
    for each in pipeline.check(stream.bench.spark):
        for finding in each.findings:
            if finding.code == code:
                return command_in(finding.how)
    raise NotOfferedError(f"the check does not find {code}")


def _other_table(bench: Bench, code: str) -> CarriedOut:
    """Name another table in the code."""
    stream = _OtherTable(bench)
    stream.add(BATCHES)
    stream.run()
    stream.is_changed = True
    return stream.repair(code, command=_checked(stream, code))


def _other_keys(bench: Bench, code: str) -> CarriedOut:
    """Merge the same table by a key from now on; then name a new table, as the finding says."""
    stream = _OtherTable(bench, new_table="readings")
    stream.execute("ALTER TABLE readings ADD UNIQUE (value)")
    stream.add(BATCHES)
    stream.run()
    stream.is_changed = True
    command = _checked(stream, code)
    stream.new_table = "readings_new"
    return stream.repair(code, command=command)


def _with_error(text: str, table: type[FileStream]) -> Callable[[Bench, str], CarriedOut]:
    """Return what gives an error of Spark to `diagnose`, and repairs with what it prints."""

    def carry_out(bench: Bench, code: str) -> CarriedOut:
        stream = table(bench)
        stream.add(BATCHES)
        stream.run()
        log = bench.place / "driver.log"
        log.write_text(text)
        return stream.repair(code, command=diagnosed([*stream.looks, "--error", str(log)], code))

    return carry_out


_CHANGED: dict[str, tuple[str, Callable[[Bench, str], CarriedOut]]] = {
    "state-type-changed": ("HF511", _changed_totals("sum(1.0D)")),
    "state-column-renamed": ("HF512", _renamed),
    "aggregate-changed": ("HF513", _changed_totals("sum(1L)")),
    "sink-replaced": ("HF408", _other_table),
    "merge-keys-changed": ("HF409", _other_keys),
    "error-of-another-schema": (
        "HF926",
        _with_error("[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema", TotalsStream),
    ),
    "error-of-another-table": (
        "HF927",
        _with_error(
            "[DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE] The streaming query was reading from "
            "an unexpected Delta table (id = '6f0c0000-0000-4000-8000-000000000001').",
            TableSource,
        ),
    ),
}
REMEDIES = tuple(
    Remedy(name=name, code=code, goal="reset", carry_out=carry_out)
    for name, (code, carry_out) in _CHANGED.items()
)
