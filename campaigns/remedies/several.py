"""Remedies of a stream with two sinks, of which one can hold a batch that the other one lacks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.functions import udf

import holdfast as hf
from campaigns.remedies.remedy import Bench, CarriedOut, Remedy
from campaigns.remedies.streams import DSN, FileStream, Row

_LOOKUP = "lookup"
_CHANGED = " changed"


@dataclass
class TwoSinks(FileStream):
    """The same rows into two tables, with a value that is looked up, so that it may change."""

    changed_from: int | None = None
    """The first row for which it is looked up that something has changed."""

    def __post_init__(self) -> None:
        """Create the tables."""
        super().__post_init__()
        for table in ("first", "second"):
            self.execute(f"CREATE TABLE {table} (value text)")
        (self.bench.place / _LOOKUP).write_text("")

    def change(self) -> None:
        """Change what is looked up; rows that a sink holds stay as they are."""
        (self.bench.place / _LOOKUP).write_text(_CHANGED)
        self.changed_from = self.files

    def frame(self) -> DataFrame:
        """Return the query."""
        path = str(self.bench.place / _LOOKUP)
        look_up = udf(lambda value: value + Path(path).read_text(), "string")
        return super().frame().select(look_up("value").alias("value"))

    def sink(self) -> Any:
        """Return where it writes."""
        return [hf.Postgres(f"env:{DSN}", table=table) for table in ("first", "second")]

    def expected(self) -> Iterable[Row]:
        """Return what the sinks must hold."""
        old = self.files if self.changed_from is None else self.changed_from
        return [
            (f"row {number}" if number < old else f"row {number}{_CHANGED}",)
            for number in range(self.files)
        ]

    def rows(self) -> list[Row]:
        """Return what the second sink holds; the first one must hold the same."""
        with psycopg.connect(self.dsn) as connection:
            first = connection.execute("SELECT value FROM first").fetchall()
            second = connection.execute("SELECT value FROM second").fetchall()
        assert sorted(first) == sorted(second)
        return second


def _one_apart(batches: int) -> Callable[[Bench, str], CarriedOut]:
    """Return what fails between the sinks, and deletes the checkpoint after a lookup changed."""

    def carry_out(bench: Bench, code: str) -> CarriedOut:
        stream = TwoSinks(bench)
        stream.add(batches)
        stream.run()
        stream.add(1)
        stream.execute("ALTER TABLE second ADD CONSTRAINT nope CHECK (false) NOT VALID")
        with suppress(StreamingQueryException):
            stream.run()
        stream.execute("ALTER TABLE second DROP CONSTRAINT nope")
        stream.change()
        shutil.rmtree(stream.checkpoint)
        return stream.repair(code)

    return carry_out


REMEDIES = tuple(
    Remedy(
        name=f"sinks-apart-after-{batches}",
        code="HF606",
        goal="resume",
        carry_out=_one_apart(batches),
    )
    for batches in (1, 3)
)
