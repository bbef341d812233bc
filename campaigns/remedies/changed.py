"""Remedies where something beside the checkpoint changed: the code, its source, or the sink."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame

import holdfast as hf
from campaigns.remedies.remedy import (
    Bench,
    CarriedOut,
    NotOfferedError,
    Remedy,
    command_in,
    plan_and_apply,
)
from campaigns.remedies.streams import STREAM, FileStream

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
class TableSource(FileStream):
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
class _OtherKind(TableSource):
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


def refused(stream: FileStream, code: str) -> CarriedOut:
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
    return refused(stream, code)


def _moved(bench: Bench, code: str) -> CarriedOut:
    stream = _MovedSource(bench)
    stream.add(BATCHES)
    stream.run()
    old = stream.inputs
    stream.is_changed = True
    old.rename(stream.inputs)
    return refused(stream, code)


def _other_kind(bench: Bench, code: str) -> CarriedOut:
    """Load the files into a table, and read that."""
    stream = _OtherKind(bench)
    stream.add(BATCHES)
    stream.run()
    stream.is_changed, stream.files = True, 0
    stream.add(BATCHES)
    return refused(stream, code)


def _history_gone(bench: Bench, code: str) -> CarriedOut:
    """Clean the log of the source table up while the stream is behind."""
    stream = TableSource(bench)
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


def _table_created_again(bench: Bench, code: str) -> CarriedOut:
    """Create the source table again with the rows of before, and more."""
    stream = TableSource(bench)
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
    "source-history-gone": ("HF341", _history_gone),
}
REMEDIES = tuple(
    Remedy(name=name, code=code, goal="reset", carry_out=carry_out)
    for name, (code, carry_out) in _CHANGED.items()
)
