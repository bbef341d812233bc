"""A pipeline of the user's in a drill: its sources are the sample, its tables are scratch.

Nothing that the pipeline names is read or written. What one of its streams reads from the table of
another it reads from that one's scratch table; everything else that it reads is the sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.drills.scratch import Scratch
from holdfast.errors import ConfigError
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.foreach_batch import ForeachBatch
from holdfast.sinks.sink import SinkSpec
from holdfast.storage.location import normal
from holdfast.streams.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from holdfast.sources.reading import OptionValue


def run_pipeline(spark: SparkSession, scratch: Scratch, declared: Pipeline) -> dict[str, str]:
    """Run every stream over all there is, those that are read from first; return the tables.

    Raises:
        ConfigError: A stream writes with a function of its own, to an unknown place.
    """
    tables: dict[str, str] = {}
    copy = Pipeline(declared.name, root=scratch.root)
    for name, stream in declared.streams.items():
        sinks = [_scratch_sink(scratch, name, sink) for sink in stream.sinks]
        for sink, table in zip(stream.sinks, sinks, strict=True):
            tables[normal(sink.place)] = table.place
        options = {**stream.options, "trigger": {"availableNow": True}}
        copy.stream(name, into=sinks, **options)(stream.build)
    session: Any = SandboxSession(spark, scratch, tables)  # has what a stream's function asks for
    for name in declared.streams:
        copy.start(session, only=[name])[name].awaitTermination()
    return {
        f"{name}/{sink.label}": sink.place
        for name, stream in copy.streams.items()
        for sink in stream.sinks
    }


def _scratch_sink(scratch: Scratch, stream: str, sink: SinkSpec) -> Delta:
    if isinstance(sink, ForeachBatch):
        raise ConfigError(
            f"{stream} writes with {sink.display_name}, so a drill cannot know where to. Drill a "
            "function that takes the session and the scratch place, and starts the stream there."
        )
    path = f"{scratch.sink}/{stream}/{sink.label}"
    return Delta(path=path, keys=sink.keys, sequence_by=sink.sequence_by, name=sink.label)


class SandboxSession:
    """A session whose streams read the sample, or what the pipeline itself has written."""

    def __init__(self, spark: SparkSession, scratch: Scratch, tables: Mapping[str, str]) -> None:
        self._spark = spark
        self._scratch = scratch
        self._tables = tables

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)

    @property
    def readStream(self) -> SandboxReader:  # noqa: N802 - Spark's own word
        """What a stream is read with."""
        return SandboxReader(self._read)

    def _read(self, place: str, options: Mapping[str, OptionValue]) -> DataFrame:
        """Return the sample, or the table that stands for the one at this place."""
        table = self._tables.get(normal(place))
        if table is None:
            return self._scratch.source(self._spark)
        return self._spark.readStream.format("delta").options(**options).load(table)


class SandboxReader:
    """Takes what Spark's reader takes, and reads what is there in a drill."""

    def __init__(self, read: Callable[[str, Mapping[str, OptionValue]], DataFrame]) -> None:
        """Read with a function that takes a place and options."""
        self._read = read
        self._options: dict[str, OptionValue] = {}

    def format(self, _: str) -> SandboxReader:
        """Take the format of the source, which is not read."""
        return self

    def schema(self, _: object) -> SandboxReader:
        """Take the schema of the source: the sample has it."""
        return self

    def option(self, key: str, value: OptionValue) -> SandboxReader:
        """Take an option; a stream that reads another's table has it too."""
        self._options[key] = value
        return self

    def options(self, **options: OptionValue) -> SandboxReader:
        """Take options."""
        self._options |= options
        return self

    def load(self, path: str | None = None, **options: OptionValue) -> DataFrame:
        """Return what stands for the table at this path."""
        return self.table(str(path or options.get("path") or self._options.get("path") or ""))

    def table(self, name: str) -> DataFrame:
        """Return what stands for this table."""
        options = {key: value for key, value in self._options.items() if key != "path"}
        return self._read(name, options)

    json = csv = parquet = text = orc = load


def read_tables(spark: SparkSession, tables: Mapping[str, str]) -> list[tuple[str, DataFrame]]:
    """Return the frames of the tables, by their names; those that were never made are left out."""
    return [
        (name, spark.read.format("delta").load(path))
        for name, path in tables.items()
        if Path(path, "_delta_log").exists()
    ]
