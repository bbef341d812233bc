"""Source rows with the watermark of the batch that read them, for an operator that drops late rows.

Which batch has read a row is known from the offset log: of Kafka by its offset, of files by the
file, of a Delta table by the version that added its file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.ledger.batch_history import PlannedBatch, is_late_everywhere_alike
from holdfast.sources.delta.kind import DeltaOffset
from holdfast.sources.delta.ranges import DeltaRange, files_of_versions
from holdfast.sources.files.ranges import FileRange, read_file_numbers
from holdfast.sources.kafka.ranges import KafkaRange
from holdfast.sources.reading import Make, NoBatchForm, Reading
from holdfast.sources.registry import of_kind
from holdfast.spark.plans import TAG
from holdfast.storage.read import Reader
from holdfast.streams.batch_reader import SourcePart, opening_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MS = "__holdfast_late_ms"
_FILE = "__holdfast_file"
_SLASHES = ("^([^:/]+):/+", "")
"""`file:/in` is `file:///in`: a log and a scan write it in different ways."""


class LateTags(msgspec.Struct, frozen=True, kw_only=True):
    """Opens ranges whose rows know their watermark, in a hidden column."""

    spark: SparkSession
    history: Sequence[PlannedBatch]
    """Every batch that has read a part of the ranges."""
    checkpoint: Reader
    """Where the log of a file source is."""

    def __call__(self, part: SourcePart) -> Make | NoBatchForm:
        """Return what opens a range."""
        spark, history, make = self.spark, self.history, part.make
        if is_late_everywhere_alike(history):
            late_ms = history[0].late_ms if history else 0
            return lambda: _tagged(make(), late_ms)
        found, source = part.found, part.source
        if isinstance(found, KafkaRange):
            spans = kafka_spans(found, source, history)
            return lambda: _by_offset(spark, make(), spans)
        if isinstance(found, FileRange):
            files = file_times(self.checkpoint, source, history)
            default = None
        elif isinstance(found, DeltaRange):
            files = self._delta_times(part.reading, found, source)
            default = _first_time(source, history)
        else:
            return NoBatchForm(
                "it keeps state, and which batch has read a row of a source of this kind cannot be "
                "told"
            )
        if isinstance(files, NoBatchForm):
            return files
        return lambda: _by_file(spark, make(), files, default=default)

    def _delta_times(
        self, reading: Reading, found: DeltaRange, source: str
    ) -> Mapping[str, int] | NoBatchForm:
        """Return the time of each file that a later batch than the first has read, by its name."""
        times: dict[int, int] = {}
        through: int | None = None
        for batch in self.history:
            end = of_kind(batch.ends, DeltaOffset).get(source)
            if end is None:
                continue
            if end.index >= 0 and batch.late_ms != self.history[-1].late_ms:
                return NoBatchForm(
                    "it keeps state, and a batch ended inside a version of the Delta table that it "
                    "reads: which rows were late cannot be told"
                )
            last = found.through if end.index >= 0 else end.version - 1
            if through is not None:
                times |= dict.fromkeys(range(through + 1, last + 1), batch.late_ms)
            through = last
        versions = files_of_versions(opening_of(self.spark, reading), found, versions=times)
        if isinstance(versions, NoBatchForm):
            return versions
        return {name: times[version] for name, version in versions.items()}


Span = tuple[str, int, int, int, int]
"""A topic, a partition, offsets from the first up to but not including the second, and a time."""


def kafka_spans(found: KafkaRange, source: str, history: Sequence[PlannedBatch]) -> list[Span]:
    """Return which offsets of a range each batch has read, with its watermark for late rows."""
    spans: list[Span] = []
    for topic, ends in found.end.items():
        for partition in ends:
            first = found.start[topic][partition]
            for batch in history:
                end = batch.ends.get(source)
                last = first
                if end is not None:
                    last = end.numbers().get((topic, partition), first)
                if last > first:
                    spans.append((topic, partition, first, last, batch.late_ms))
                    first = last
    return spans


def _by_offset(spark: SparkSession, rows: DataFrame, spans: list[Span]) -> DataFrame:
    from pyspark.sql import functions as F

    of = "span_topic string, span_partition int, span_first long, span_last long"
    known = F.broadcast(spark.createDataFrame(spans, f"{of}, `{_MS}` long"))
    is_in = (
        (rows["topic"] == known["span_topic"])
        & (rows["partition"] == known["span_partition"])
        & (rows["offset"] >= known["span_first"])
        & (rows["offset"] < known["span_last"])
    )
    return _hidden(rows, rows.join(known, is_in, "left"), default=None)


def file_times(
    checkpoint: Reader, source: str, history: Sequence[PlannedBatch]
) -> Mapping[str, int] | NoBatchForm:
    """Return the watermark for late rows of each file, by its path.

    Raises:
        ReadError: The log of files cannot be listed.
    """
    times: dict[int, int] = {}
    first = 0
    for batch in history:
        end = batch.ends.get(source)
        index = None if end is None else end.log_index
        last = first if index is None else index + 1
        times |= dict.fromkeys(range(first, last), batch.late_ms)
        first = max(first, last)
    numbers = read_file_numbers(checkpoint, source, range(first))
    if isinstance(numbers, str):
        return NoBatchForm(f"source {source}: {numbers}")
    return {re.sub(*_SLASHES, path): times[number] for path, number in numbers.items()}


def _first_time(source: str, history: Sequence[PlannedBatch]) -> int:
    """Return the time of the first batch that has read from a source."""
    return next((batch.late_ms for batch in history if source in batch.ends), 0)


def _by_file(
    spark: SparkSession, rows: DataFrame, files: Mapping[str, int], *, default: int | None
) -> DataFrame:
    """Return rows with the time of their file: by its name in a Delta table, else by its path."""
    from pyspark.sql import functions as F

    path = F.col("_metadata.file_path")
    if default is not None:
        path = F.element_at(F.split(path, "/"), -1)
    else:
        path = F.regexp_replace(path, *_SLASHES)
    named = rows.select("*", path.alias(_FILE))
    known = F.broadcast(
        spark.createDataFrame(list(files.items()), f"span_file string, `{_MS}` long")
    )
    joined = named.join(known, named[_FILE] == known["span_file"], "left")
    return _hidden(rows, joined, default=default)


def _hidden(rows: DataFrame, joined: DataFrame, *, default: int | None) -> DataFrame:
    """Return rows with their columns alone; below them is the time."""
    from pyspark.sql import functions as F

    unknown = F.raise_error(F.lit("a row is of no known batch")).cast("long")
    time = F.coalesce(F.col(_MS), unknown if default is None else F.lit(default).cast("long"))
    columns = [joined[f"`{name.replace('`', '``')}`"] for name in rows.columns]
    tagged = joined.select(*columns, F.timestamp_millis(time).alias(TAG))
    return tagged.drop(TAG)


def _tagged(rows: DataFrame, late_ms: int) -> DataFrame:
    from pyspark.sql import functions as F

    return rows.withColumn(TAG, F.timestamp_millis(F.lit(late_ms).cast("long"))).drop(TAG)
