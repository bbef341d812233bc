"""Frames and a session in the place of Spark's, for sinks that only read the rows of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql.types import LongType, StringType, StructField, StructType

Row = tuple[Any, ...]


@dataclass(frozen=True)
class FrameSession:
    """Makes frames of the columns that the contract of sinks writes."""

    schema: StructType = field(
        default_factory=lambda: StructType(
            [StructField("id", LongType()), StructField("name", StringType())]
        )
    )

    def createDataFrame(self, rows: list[Row], schema: object) -> Frame:  # noqa: N802 - Spark's name
        del schema
        return Frame(self, tuple(rows))


@dataclass(frozen=True)
class Frame:
    """Rows, as a DataFrame gives them to a sink."""

    sparkSession: FrameSession  # noqa: N815 - Spark's name
    rows: tuple[Row, ...]

    @property
    def schema(self) -> StructType:
        return self.sparkSession.schema

    @property
    def columns(self) -> list[str]:
        return self.schema.names

    def collect(self) -> list[Row]:
        return list(self.rows)

    def toLocalIterator(self) -> Iterator[Row]:  # noqa: N802 - Spark's name
        return iter(self.rows)
