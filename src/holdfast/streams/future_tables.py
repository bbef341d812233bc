"""The tables that the streams of a pipeline will create, for building what reads them.

A pipeline's later streams read what its earlier ones write. Before the first start there is no such
table, and showing a pipeline must not create it: so an empty stream with the same columns is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.storage.location import normal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_OPENING = ("load", "table", "json", "csv", "parquet", "text", "orc")


class FutureTables:
    """Tables that are not there yet, with the columns they will have."""

    def __init__(self, spark: SparkSession) -> None:
        """Know none yet."""
        self._spark = spark
        self._schemas: dict[str, StructType] = {}
        self._opened: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._schemas)

    def add(self, place: str, schema: StructType) -> None:
        """Add a table that is not there yet."""
        self._schemas[normal(place)] = schema

    def session(self) -> Any:
        """Return a session that reads these as empty streams, and everything else as it is."""
        self._opened = []
        return _Session(self._spark, self)

    @property
    def opened(self) -> tuple[str, ...]:
        """The places of those that were read with the newest session."""
        return tuple(dict.fromkeys(self._opened))

    def open(self, place: str) -> DataFrame | None:
        """Return an empty stream with the columns of a table; None when it is not one of these."""
        from pyspark.sql import functions as F

        schema = self._schemas.get(normal(place)) if place else None
        if schema is None:
            return None
        self._opened.append(normal(place))
        nothing = self._spark.readStream.format("rate").load().where(F.lit(False))
        columns = (F.lit(None).cast(each.dataType).alias(each.name) for each in schema)
        return nothing.select(*columns)


class _Session:
    """Spark's session, with another `readStream`."""

    def __init__(self, spark: SparkSession, tables: FutureTables) -> None:
        self._spark = spark
        self._tables = tables

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._spark, name)
        return _Reader(found, self._tables) if name == "readStream" else found


class _Reader:
    """Spark's reader, until it opens a table that is not there yet."""

    def __init__(self, reader: Any, tables: FutureTables) -> None:
        self._reader = reader
        self._tables = tables
        self._path = ""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._reader, name)

        def call(*given: Any, **named: Any) -> Any:
            if name == "option" and given and given[0] == "path":
                self._path = str(given[1])
            self._path = str(named.get("path", self._path))
            if name not in _OPENING:
                method(*given, **named)
                return self
            found = self._tables.open(str(given[0]) if given else self._path)
            return method(*given, **named) if found is None else found

        return call
