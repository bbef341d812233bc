"""A stream of files into an append-only sink, which situations damage and restart on a copy."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from campaigns.situations.situation import Bench, Shown
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.overview import overview_of
from holdfast.evidence.times import collect_times
from holdfast.proof.multiset import compare
from holdfast.rules import Finding
from holdfast.storage.open import open_reader
from holdfast.testing.rule_cases import findings_in

FIRST_FILE_TIME = 1_700_000_000
Row = tuple[object, ...]


def as_it_is(read: DataFrame) -> DataFrame:
    """Return the query that changes nothing."""
    return read


@dataclass
class AppendedStream:
    """One file a batch, each row appended to a list: a sink that recognises no batch."""

    bench: Bench
    query: Callable[[DataFrame], DataFrame] = as_it_is
    mode: str = "append"
    into: Path | None = None
    """Where Spark's own file sink writes instead, which recognises a batch by its number."""
    rows: list[Row] = field(default_factory=list)
    """What the sink holds."""
    files: int = 0

    @property
    def checkpoint(self) -> Path:
        """Where the healthy stream keeps its checkpoint."""
        return self.bench.place / "checkpoint"

    def add(self, *lines: str) -> None:
        """Add an input file."""
        inputs = self.bench.place / "input"
        inputs.mkdir(exist_ok=True)
        path = inputs / f"{self.files:03}"
        path.write_text("".join(f"{line}\n" for line in lines))
        at = FIRST_FILE_TIME + self.files  # Spark reads them in this order
        os.utime(path, (at, at))
        self.files += 1

    def run(self, checkpoint: Path | None = None) -> str:
        """Run until everything is read; return words of the error, or nothing."""
        reader = self.bench.spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        frame = self.query(reader.load(str(self.bench.place / "input")))
        writer = frame.writeStream.outputMode(self.mode)
        if self.into is None:
            writer = writer.foreachBatch(self._append)
        else:
            writer = writer.format("json").option("path", str(self.into))
        where = str(checkpoint or self.checkpoint)
        query = writer.option("checkpointLocation", where).trigger(availableNow=True).start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            return str(error).partition("\n")[0] or "failed"
        finally:
            if self.into is not None:
                read = self.bench.spark.read.json(str(self.into))
                self.rows = [tuple(row) for row in read.collect()]
        return ""

    def judge(self) -> tuple[Finding, ...]:
        """Return what is found in the checkpoint alone."""
        reader = open_reader(str(self.checkpoint))
        overview = overview_of(collect(reader))
        return findings_in(
            Case(checkpoint=overview.checkpoint, overview=overview, times=collect_times(reader))
        )

    def restart(self, healthy: tuple[Finding, ...], expected: Iterable[Row]) -> Shown:
        """Diagnose it, restart Spark on a copy, and return what was said and what was seen."""
        found = self.judge()
        copy = self.bench.place / "copy"
        shutil.copytree(self.checkpoint, copy)
        error = self.run(copy)
        seen = compare(expected, self.rows)
        return Shown(
            healthy=healthy,
            findings=found,
            difference=seen,
            error=error,
            spark_said=error or "nothing",
        )

    def _append(self, batch: DataFrame, _: int) -> None:
        self.rows += [tuple(row) for row in batch.collect()]
