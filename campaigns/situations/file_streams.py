"""A small stream from JSON files to Spark's file sink, which the situations of files share.

Both logs name files by their absolute paths, so a copy of them would be another situation: what is
damaged here is restarted where it is. The bench throws it away.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from campaigns.situations.situation import Bench, Shown
from holdfast.evidence.case import Case
from holdfast.evidence.checkpoint_evidence import Evidence
from holdfast.evidence.collect import collect
from holdfast.evidence.outputs.file_reader import read_file_output
from holdfast.evidence.overview import overview_of
from holdfast.evidence.stream import StreamEvidence
from holdfast.ids import QueryId
from holdfast.ledger.row import Binding
from holdfast.proof.multiset import compare
from holdfast.record.generations import OPENED, Generation
from holdfast.rules import Finding
from holdfast.sources.files.probe import probe_files
from holdfast.spark.classic.describe import describe_query
from holdfast.storage.open import open_reader
from holdfast.testing.rule_cases import findings_in

DAY = 86_400
_CONDITION = re.compile(r"\[([A-Z0-9_.]+)\]")
SETTINGS = {
    "compact_interval": "fileSink.log.compactInterval",
    "provider": "stateStore.providerClass",
    "state_format": "stateStore.checkpointFormatVersion",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStream:
    """Files with one number per line in, the same numbers out."""

    bench: Bench
    source: str = "in"
    checkpoint: str = "checkpoint"
    out: str = "out"
    is_stateful: bool = False

    @property
    def place(self) -> Path:
        """Where everything lies."""
        return self.bench.place

    def put(self, name: str, numbers: Iterable[int], *, days: float = 0.0) -> None:
        """Write an input file, with a modification time that many days from now."""
        path = self.place / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps({"v": number}) + "\n" for number in numbers))
        modified = time.time() + days * DAY
        os.utime(path, (modified, modified))

    def read(self) -> DataFrame:
        """Return the query; sources are joined by a plus sign."""
        reader = self.bench.spark.readStream.schema("v long")
        first, *others = [reader.json(str(self.place / each)) for each in self.source.split("+")]
        for other in others:
            first = first.union(other)
        return first.dropDuplicates(["v"]) if self.is_stateful else first

    def run(self) -> str:
        """Run what there is to run; return the words of the error, or nothing."""
        writer = self.read().writeStream.format("json").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self.place / self.checkpoint))
        try:
            writer.start(str(self.place / self.out)).awaitTermination()
        except PySparkException as error:
            return _words(str(error))
        return ""

    def run_batches(self, numbers: Iterable[int]) -> None:
        """Run one batch for each number."""
        for number in numbers:
            self.put(f"{self.source}/{number}.json", [number])
            error = self.run()
            if error:
                raise AssertionError(error)

    def rows(self) -> list[int]:
        """Return what Spark reads in the output."""
        read = self.bench.spark.read.schema("v long").json(str(self.place / self.out))
        return [row.v for row in read.collect()]

    def judge(self) -> tuple[Finding, ...]:
        """Look at checkpoint, source and output, as they are, and judge them."""
        checkpoint, out = (open_reader(str(self.place / each)) for each in self.both)
        evidence = collect(checkpoint)
        probes = [
            probe_files(log, checkpoint, open_reader, now=datetime.now(tz=UTC))
            for log in evidence.checkpoint.sources
        ]
        case = Case(
            checkpoint=evidence.checkpoint,
            overview=overview_of(evidence),
            stream=self._stream(evidence),
            sources=tuple(probes),
            outputs=(read_file_output(out, self.out),),
        )
        return findings_in(case)

    @property
    def both(self) -> tuple[str, str]:
        """The names of checkpoint and output."""
        return self.checkpoint, self.out

    def _stream(self, evidence: Evidence) -> StreamEvidence:
        """Return what a guarded start knows of the query."""
        place = str(self.place / self.checkpoint)
        binding = Binding(query_id=QueryId("q"), checkpoint=place)
        generation = Generation(
            number=1, checkpoint=place, query_id="q", first_batch=0, why=OPENED, opened_at=""
        )
        return StreamEvidence(
            stream="files",
            generation=generation,
            checkpoint=evidence.checkpoint,
            binding=binding,
            sinks=(),
            sources=describe_query(self.read(), sinks=(), output_mode="append")[0].sources,
        )

    def forget(self, *names: str) -> None:
        """Delete files of a log, with the checksums beside them."""
        for name in names:
            path = self.place / name
            path.unlink()
            (path.parent / f".{path.name}.crc").unlink(missing_ok=True)

    def restart(
        self, expected: Iterable[int], *, healthy: tuple[Finding, ...], said: tuple[Finding, ...]
    ) -> Shown:
        """Run what there is, and compare the output with what it must hold."""
        error = self.run()
        difference = None if error else compare(expected, self.rows())
        said_by_spark = error or "nothing"
        return Shown(
            healthy=healthy,
            findings=said,
            difference=difference,
            error=error,
            spark_said=said_by_spark,
        )

    def copy(self, name: str, to: str) -> None:
        """Copy a directory."""
        shutil.copytree(self.place / name, self.place / to)

    def remove(self, name: str) -> None:
        """Delete a directory."""
        shutil.rmtree(self.place / name)


def _words(message: str) -> str:
    """Return the error condition in a message of Spark, or the first words of its cause."""
    cause = message.partition("terminated with exception: ")[2] or message
    named = _CONDITION.match(cause)
    return named[1] if named else " ".join(word for word in cause.split()[:3] if word[0] != "/")


@contextmanager
def setting(bench: Bench, **values: str) -> Iterator[None]:
    """Have settings of Spark's streaming in the session, and take them out again."""
    names = {f"spark.sql.streaming.{SETTINGS[each]}": value for each, value in values.items()}
    for name, value in names.items():
        bench.spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in names:
            bench.spark.conf.unset(name)
