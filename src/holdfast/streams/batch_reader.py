"""Sessions for the function of a stream: one that notes what it reads, one that reads ranges.

The function of a stream calls `spark.readStream`. Both sessions here are Spark's own with another
`readStream`. The first gives the streams themselves and notes each. The second gives, in the same
order, batch DataFrames that hold exactly a range of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.errors import ConfigError
from holdfast.ledger.source_ranges import SourceRange
from holdfast.spark.batch_plan import SourceNode, source_nodes

_SHORT = ("csv", "json", "orc", "parquet", "text", "xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One stream that a function reads, as it named it."""

    format: str | None = None
    """None: the session's default, or a table's own."""
    schema: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    path: str | None = None
    table: str | None = None
    name: str | None = None
    """As `readStream.name` gave it; None without one."""

    def option(self, name: str) -> str | None:
        """Return an option of the source, whose names have no case; None when it is not given."""
        found = (value for key, value in self.options.items() if key.lower() == name.lower())
        return next((_text(value) for value in found), None)

    def without(self, names: Iterable[str]) -> dict[str, Any]:
        """Return its options but for some, which are given in lower case."""
        return {key: value for key, value in self.options.items() if key.lower() not in names}


Open = Callable[[Reading], Any]
Make = Callable[[], Any]
"""Opens a batch DataFrame."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePart:
    """A range of one source, as a batch."""

    source: str
    """Its number in the checkpoint, or its name."""
    reading: Reading
    found: SourceRange
    make: Make


@dataclass(frozen=True, slots=True)
class NoBatchForm:
    """Why a stream, or one of its sources, cannot be run as a batch job."""

    reason: str


class Session:
    """Spark's session, with another `readStream`."""

    def __init__(self, spark: Any, open_reading: Open) -> None:
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
        self._schema: Any = None
        self._options: dict[str, Any] = {}
        self._name: str | None = None

    def __getattr__(self, name: str) -> Any:
        if name not in _SHORT:
            raise ConfigError(f"readStream.{name} is not known to Holdfast.")

        def load(path: str, schema: Any = None, **options: Any) -> Any:
            return self.load(path, format=name, schema=schema, **options)

        return load

    def format(self, source: str) -> StreamReader:
        """As Spark's."""
        self._format = source
        return self

    def schema(self, schema: Any) -> StreamReader:
        """As Spark's."""
        self._schema = schema
        return self

    def option(self, key: str, value: Any) -> StreamReader:
        """As Spark's."""
        return self.options(**{key: value})

    def options(self, **options: Any) -> StreamReader:
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
        schema: Any = None,
        **options: Any,
    ) -> Any:
        """Open the source."""
        self.options(**options)
        reading = Reading(
            format=format or self._format,
            schema=schema or self._schema,
            options=dict(self._options),
            name=self._name,
        )
        return self._open(replace(reading, path=path or reading.option("path")))

    def table(self, tableName: str) -> Any:  # noqa: N803 - Spark's own word
        """Open a table of a catalog."""
        options = dict(self._options)
        return self._open(Reading(table=tableName, options=options, name=self._name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """One stream that a function has read."""

    reading: Reading
    schema: Any
    nodes: tuple[SourceNode, ...]
    """As they stand in the plan of the stream alone."""


@dataclass(slots=True)
class Notes:
    """What a function reads, in the order in which it reads it."""

    spark: Any
    noted: list[Noted] = field(default_factory=list)

    def open(self, reading: Reading) -> Any:
        """Open a stream as it is, and note it."""
        df = stream_of(self.spark, reading)
        self.noted.append(Noted(reading=reading, schema=df.schema, nodes=source_nodes(df)))
        return df


@dataclass(slots=True)
class Batches:
    """Opens batch DataFrames in the place of streams, one after the other."""

    dataframes: Sequence[Make]
    opened: int = 0

    def open(self, _: Reading) -> Any:
        """Return the next one."""
        self.opened += 1
        return self.dataframes[self.opened - 1]()


def stream_of(spark: Any, reading: Reading) -> Any:
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


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
