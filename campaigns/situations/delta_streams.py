"""A stream from one Delta table into another: what the situations with Delta are made of."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from campaigns.situations.situation import Bench, Shown
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.outcomes import Resumes, RunsAgain
from holdfast.evidence.outputs.delta_reader import read_delta_output
from holdfast.evidence.overview import Overview, overview_of
from holdfast.ids import BatchId
from holdfast.proof.multiset import compare
from holdfast.rules import Finding
from holdfast.sources.delta.kind import DeltaOffset
from holdfast.sources.delta.probe import probe_delta
from holdfast.sources.probe import SourceProbe
from holdfast.sources.registry import parse_offset
from holdfast.storage.open import open_reader
from holdfast.testing.rule_cases import findings_in

ROWS = 3
"""In every commit of the source."""
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]")
"""As messages of Spark and Delta name it."""
Write = Callable[[DataFrame, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaStream:
    """A query, with everything that a restart of it meets."""

    spark: SparkSession
    place: Path
    source: Path
    name: str = "stream"
    """Its checkpoint and its sink are in a directory of that name."""
    into: str = ""
    """Of a clone: the name of the stream whose sink it writes."""
    options: tuple[tuple[str, str], ...] = ()
    """Of the source."""
    write: Callable[[Path], Write] | None = None
    """Makes the function for foreachBatch; None for Spark's own sink."""
    totals: bool = False
    """Whether it counts its rows, in complete mode or with a function in update mode."""

    @property
    def checkpoint(self) -> Path:
        """Where Spark keeps its checkpoint."""
        return self.place / self.name / "checkpoint"

    @property
    def sink(self) -> Path:
        """The table that it writes."""
        return self.place / (self.into or self.name) / "sink"

    def add(self, number: int) -> None:
        """Append commit `number` to the source: ROWS rows."""
        rows = self.spark.range(number * ROWS, (number + 1) * ROWS).coalesce(1)
        rows.write.format("delta").mode("append").save(str(self.source))

    def sql(self, text: str) -> None:
        """Run a statement; `{sink}` and `{source}` stand for the tables."""
        self.spark.sql(text.format(sink=f"delta.`{self.sink}`", source=f"delta.`{self.source}`"))

    def run(self) -> None:
        """Run everything that is available."""
        read = self.spark.readStream.format("delta").options(**dict(self.options))
        rows = read.load(str(self.source)).select("id")
        counted = rows.selectExpr("id % 2 AS key").groupBy("key").count() if self.totals else rows
        writer: Any = counted.writeStream.option("checkpointLocation", str(self.checkpoint))
        if self.write is not None:
            mode = "update" if self.totals else "append"
            started = writer.outputMode(mode).foreachBatch(self.write(self.sink))
            query = started.trigger(availableNow=True).start()
        else:
            mode = "complete" if self.totals else "append"
            started = writer.format("delta").outputMode(mode)
            query = started.trigger(availableNow=True).start(str(self.sink))
        query.awaitTermination()

    def feed(self, *numbers: int) -> None:
        """Append commits to the source, and run a batch after each."""
        for number in numbers:
            self.add(number)
            self.run()

    def forget(self, *entries: str) -> None:
        """Delete files of the checkpoint, with Hadoop's checksums."""
        for entry in entries:
            path = self.checkpoint / entry
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def copy(self, name: str) -> DeltaStream:
        """Return a copy of checkpoint and sink under another name."""
        shutil.copytree(self.place / self.name, self.place / name)
        return replace(self, name=name)

    def clone(self) -> DeltaStream:
        """Return a query on a copy of the checkpoint that writes the same sink."""
        cloned = replace(self, name="clone", into=self.name)
        shutil.copytree(self.checkpoint, cloned.checkpoint)
        return cloned

    def look(self) -> tuple[Finding, ...]:
        """Judge the checkpoint, the sink and the source."""
        evidence = collect(open_reader(str(self.checkpoint)))
        output = read_delta_output(open_reader(str(self.sink)), "the Delta table sink")
        overview = overview_of(evidence)
        case = Case(
            checkpoint=evidence.checkpoint,
            overview=overview,
            outputs=(output,),
            sources=self._probe(overview),
        )
        return findings_in(case)

    def _probe(self, overview: Overview) -> tuple[SourceProbe, ...]:
        """Look at the source, from where the next batch begins."""
        start = overview.next_start
        last = start.batch_id - 1 if isinstance(start, Resumes | RunsAgain) else -1
        needed, listed = (self._offset(overview, batch) for batch in (last, last - 1))
        if needed is None:
            return ()
        table, now = open_reader(str(self.source)), datetime.now(tz=UTC)
        return (probe_delta("0", needed, table, now=now, listed=listed),)

    @staticmethod
    def _offset(overview: Overview, batch: int) -> DeltaOffset | None:
        entry = overview.checkpoint.offsets.get(BatchId(batch))
        text = entry.offsets[0].text if isinstance(entry, OffsetEntry) else None
        offset = parse_offset(text or "")
        return offset if isinstance(offset, DeltaOffset) else None

    def restart(
        self,
        healthy: tuple[Finding, ...],
        expected: int,
        *,
        before: Callable[[], None] | None = None,
    ) -> Shown:
        """Take the diagnosis, restart a copy, and compare its sink with the first rows."""
        return self.show(healthy, [(number,) for number in range(expected * ROWS)], before)

    def show(
        self,
        healthy: tuple[Finding, ...],
        expected: list[tuple[int, ...]],
        before: Callable[[], None] | None = None,
    ) -> Shown:
        """Take the diagnosis, restart a copy, and compare its sink with the rows given."""
        findings = self.look()
        copy = self.copy("restarted")
        if before is not None:
            before()
        try:
            copy.run()
        except (StreamingQueryException, PySparkException) as error:
            named = [each for each in _CONDITION.findall(str(error)) if each != "STREAM_FAILED"]
            said = named[0] if named else str(error).splitlines()[0]
            return Shown(healthy=healthy, findings=findings, error=said, spark_said=said)
        there = self.spark.read.format("delta").load(str(copy.sink)).collect()
        difference = compare(expected, [tuple(row) for row in there])
        return Shown(healthy=healthy, findings=findings, difference=difference)


def begin(bench: Bench, **given: Any) -> DeltaStream:
    """Return a stream that has not run yet."""
    return DeltaStream(spark=bench.spark, place=bench.place, source=bench.place / "source", **given)
