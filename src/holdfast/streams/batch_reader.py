"""Sessions for the function of a stream: one that notes what it reads, one that reads ranges.

The function of a stream calls `spark.readStream`. Both sessions here are Spark's own with another
`readStream`. The first gives the streams themselves and notes each. The second gives, in the same
order, batch DataFrames that hold exactly a range of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from holdfast.errors import ConfigError
from holdfast.sinks.session import reader_of
from holdfast.sources.ranges import SourceRange
from holdfast.sources.reading import Make, Opening, OptionValue, Reading
from holdfast.spark.errors import first_line, spark_errors
from holdfast.spark.plans import SourceNode
from holdfast.spark.port import port_of
from holdfast.storage.location import parse_location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


_SHORT = ("csv", "json", "orc", "parquet", "text", "xml")


Open = Callable[[Reading], "DataFrame"]


class SourcePart(msgspec.Struct, frozen=True, kw_only=True):
    """A range of one source, as a batch."""

    source: str
    """Its number in the checkpoint, or its name."""
    reading: Reading
    found: SourceRange
    make: Make


class Session:
    """Spark's session, with another `readStream`."""

    def __init__(self, spark: SparkSession, open_reading: Open) -> None:
        """Read every stream by a function."""
        self._spark = spark
        self._open = open_reading

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)

    @property
    def readStream(self) -> StreamReader:  # noqa: N802 - Spark's own word
        """Return a reader of one stream."""
        return StreamReader(self._open)


class StreamReader:
    """What `spark.readStream` is: it takes a source's options, and opens it."""

    def __init__(self, open_reading: Open) -> None:
        """Know no option yet."""
        self._open = open_reading
        self._format: str | None = None
        self._schema: StructType | str | None = None
        self._options: dict[str, OptionValue] = {}
        self._name: str | None = None

    def __getattr__(self, name: str) -> Any:
        if name not in _SHORT:
            raise ConfigError(f"readStream.{name} is not known to Holdfast.")

        def load(
            path: str, schema: StructType | str | None = None, **options: OptionValue
        ) -> DataFrame:
            return self.load(path, format=name, schema=schema, **options)

        return load

    def format(self, source: str) -> StreamReader:
        """As Spark's."""
        self._format = source
        return self

    def schema(self, schema: StructType | str) -> StreamReader:
        """As Spark's."""
        self._schema = schema
        return self

    def option(self, key: str, value: OptionValue) -> StreamReader:
        """As Spark's."""
        return self.options(**{key: value})

    def options(self, **options: OptionValue) -> StreamReader:
        """As Spark's; of two that differ in case only, the later one counts."""
        for key, value in options.items():
            known = {name for name in self._options if name.lower() == key.lower()}
            for name in known:
                del self._options[name]
            if value is not None:
                self._options[key] = value
        return self

    def name(self, name: str) -> StreamReader:
        """As Spark's."""
        self._name = name
        return self

    def load(
        self,
        path: str | None = None,
        format: str | None = None,  # noqa: A002 - Spark's own word
        schema: StructType | str | None = None,
        **options: OptionValue,
    ) -> DataFrame:
        """Open the source."""
        self.options(**options)
        reading = Reading(
            format=format or self._format,
            schema=schema or self._schema,
            options=dict(self._options),
            name=self._name,
        )
        return self._open(replace(reading, path=path or reading.option("path")))

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - Spark's own word
        """Open a table of a catalog."""
        options = dict(self._options)
        return self._open(Reading(table=tableName, options=options, name=self._name))


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """One stream that a function has read."""

    reading: Reading
    schema: StructType | str
    nodes: tuple[SourceNode, ...]
    """As they stand in the plan of the stream alone."""


class Notes(msgspec.Struct):
    """What a function reads, in the order in which it reads it."""

    spark: SparkSession
    noted: list[Noted] = msgspec.field(default_factory=list)

    def open(self, reading: Reading) -> DataFrame:
        """Open a stream as it is, and note it."""
        df = stream_of(self.spark, reading)
        self.noted.append(
            Noted(reading=reading, schema=df.schema, nodes=port_of(self.spark).source_nodes(df))
        )
        return df


class Batches(msgspec.Struct):
    """Opens batch DataFrames in the place of streams, one after the other."""

    dataframes: Sequence[Make]
    opened: int = 0

    def open(self, _: Reading) -> DataFrame:
        """Return the next one."""
        self.opened += 1
        return self.dataframes[self.opened - 1]()


def stream_of(spark: SparkSession, reading: Reading) -> DataFrame:
    """Open a stream by Spark's own reader."""
    reader = spark.readStream
    if reading.name is not None:
        reader = reader.name(reading.name)
    if reading.table is not None:
        return reader.options(**reading.options).table(reading.table)
    if reading.format is not None:
        reader = reader.format(reading.format)
    if reading.schema is not None:
        reader = reader.schema(reading.schema)
    reader = reader.options(**reading.options)
    return reader.load() if reading.path is None else reader.load(reading.path)


def opening_of(spark: SparkSession, reading: Reading) -> Opening:
    """Return what is needed to open a range of a stream as a batch."""
    return Opening(
        spark=spark,
        reading=reading,
        read_at=lambda location: reader_of(spark, parse_location(location)),
        errors=spark_errors(),
        first_line=first_line,
    )
