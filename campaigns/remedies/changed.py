"""Remedies where something beside the checkpoint changed: the code, its source, or the sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

import holdfast as hf
from campaigns.remedies.remedy import (
    Bench,
    CarriedOut,
    NotOfferedError,
    Remedy,
    command_in,
    diagnosed,
    plan_and_apply,
)
from campaigns.remedies.streams import DSN, STREAM, FileStream, Row, TotalsStream

BATCHES = 4


@dataclass
class _TwoSources(FileStream):
    """The query gets a second source."""

    is_changed: bool = False

    def frame(self) -> DataFrame:
        """Return the query."""
        found = super().frame()
        return found.union(super().frame().where("false")) if self.is_changed else found


@dataclass
class _MovedSource(FileStream):
    """The data is moved to another directory."""

    is_changed: bool = False

    @property
    def inputs(self) -> Path:
        """Where its input is."""
        return self.bench.place / ("moved" if self.is_changed else "in")


@dataclass
class _TableSource(FileStream):
    """The stream reads a Delta table."""

    def frame(self) -> DataFrame:
        """Return the query."""
        return self.bench.spark.readStream.format("delta").load(self.source)

    @property
    def source(self) -> str:
        """Where the source table is."""
        return str(self.bench.place / "source")

    @property
    def looks(self) -> list[str]:
        """What `holdfast diagnose` is asked."""
        return [*super().looks, "--probe"]

    def add(self, count: int) -> None:
        """Append to the source table."""
        rows = [(f"row {self.files + number}",) for number in range(count)]
        frame = self.bench.spark.createDataFrame(rows, "value string")
        frame.write.format("delta").mode("append").save(self.source)
        self.files += count


@dataclass
class _OtherKind(_TableSource):
    """The files become a table: the query reads that instead."""

    is_changed: bool = False

    def frame(self) -> DataFrame:
        """Return the query."""
        return super().frame() if self.is_changed else FileStream.frame(self)

    def add(self, count: int) -> None:
        """Add to what the query reads."""
        if self.is_changed:
            super().add(count)
        else:
            FileStream.add(self, count)


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


def _refused(stream: FileStream, code: str) -> CarriedOut:
    """Start the changed code, and repair with what the refusal prints."""
    try:
        stream.run()
    except hf.StartRefusedError as refused:
        (found,) = (each for each in refused.findings if each.code == code)
        return stream.repair(code, command=command_in(found.how))
    raise NotOfferedError("the start was not refused")


def _second_source(bench: Bench, code: str) -> CarriedOut:
    stream = _TwoSources(bench)
    stream.add(BATCHES)
    stream.run()
    stream.is_changed = True
    return _refused(stream, code)


def _moved(bench: Bench, code: str) -> CarriedOut:
    stream = _MovedSource(bench)
    stream.add(BATCHES)
    stream.run()
    old = stream.inputs
    stream.is_changed = True
    old.rename(stream.inputs)
    return _refused(stream, code)


def _other_kind(bench: Bench, code: str) -> CarriedOut:
    """Load the files into a table, and read that."""
    stream = _OtherKind(bench)
    stream.add(BATCHES)
    stream.run()
    stream.is_changed, stream.files = True, 0
    stream.add(BATCHES)
    return _refused(stream, code)


def _changed_totals(aggregate: str, *, column: str = "value") -> Callable[[Bench, str], CarriedOut]:
    """Return what starts totals with another aggregate, and repairs with what is printed."""

    def carry_out(bench: Bench, code: str) -> CarriedOut:
        stream = _ChangedTotals(bench, aggregate=aggregate, column=column)
        stream.add(BATCHES)
        stream.run()
        stream.is_changed = True
        return _refused(stream, code)

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


def _history_gone(bench: Bench, code: str) -> CarriedOut:
    """Clean the log of the source table up while the stream is behind."""
    stream = _TableSource(bench)
    stream.add(2)
    stream.run()
    for _ in range(3):
        stream.add(1)
    table = f"delta.`{stream.source}`"
    bench.spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    stream.add(1)
    for version in range(3):
        name = f"{version:020}"
        for path in Path(stream.source, "_delta_log").glob(f"*{name}.*"):
            path.unlink()
    return stream.repair(code)


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


def _table_created_again(bench: Bench, code: str) -> CarriedOut:
    """Create the source table again with the rows of before, and more."""
    stream = _TableSource(bench)
    stream.add(BATCHES)
    stream.run()
    Path(stream.source).rename(bench.place / "source-before")
    stream.files = 0
    stream.add(BATCHES + 1)
    return stream.repair(code)


def _from_before_a_reset(bench: Bench, code: str) -> CarriedOut:
    """Put a backup of the sink back that is older than a reset."""
    stream = FileStream(bench)
    stream.add(BATCHES)
    stream.run()
    stream.execute("CREATE TABLE kept_rows AS TABLE holdfast.ledger")
    command = f"holdfast plan reset {STREAM} --root {stream.root} --from earliest"
    plan_and_apply(f"{command} --output truncate -o plan.json", bench.place)
    (bench.place / "plan.json").unlink()
    stream.run()
    stream.execute("DELETE FROM holdfast.ledger; INSERT INTO holdfast.ledger TABLE kept_rows")
    return stream.repair(code)


_CHANGED: dict[str, tuple[str, Callable[[Bench, str], CarriedOut]]] = {
    "second-source": ("HF401", _second_source),
    "source-moved": ("HF402", _moved),
    "source-becomes-a-table": ("HF404", _other_kind),
    "source-table-created-again": ("HF340", _table_created_again),
    "sink-from-before-a-reset": ("HF607", _from_before_a_reset),
    "state-type-changed": ("HF511", _changed_totals("sum(1.0D)")),
    "state-column-renamed": ("HF512", _renamed),
    "aggregate-changed": ("HF513", _changed_totals("sum(1L)")),
    "sink-replaced": ("HF408", _other_table),
    "merge-keys-changed": ("HF409", _other_keys),
    "source-history-gone": ("HF341", _history_gone),
    "error-of-another-schema": (
        "HF926",
        _with_error("[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] Provided key schema", TotalsStream),
    ),
    "error-of-another-table": (
        "HF927",
        _with_error(
            "[DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE] The streaming query was reading from "
            "an unexpected Delta table (id = '6f0c0000-0000-4000-8000-000000000001').",
            _TableSource,
        ),
    ),
}
REMEDIES = tuple(
    Remedy(name=name, code=code, goal="reset", carry_out=carry_out)
    for name, (code, carry_out) in _CHANGED.items()
)
