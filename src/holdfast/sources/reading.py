"""A stream that code reads, and what is needed to open a range of it as a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from holdfast.storage.read import Reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

OptionValue = bool | float | int | str | None
"""What an option of a source may be."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One stream that a function reads, as it named it."""

    format: str | None = None
    """None: the session's default, or a table's own."""
    schema: StructType | str | None = None
    options: dict[str, OptionValue] = msgspec.field(default_factory=dict)
    path: str | None = None
    table: str | None = None
    name: str | None = None
    """As `readStream.name` gave it; None without one."""

    def option(self, name: str) -> str | None:
        """Return an option of the source, whose names have no case; None when it is not given."""
        found = (value for key, value in self.options.items() if key.lower() == name.lower())
        return next((_text(value) for value in found), None)

    def without(self, names: Iterable[str]) -> dict[str, OptionValue]:
        """Return its options but for some, which are given in lower case."""
        return {key: value for key, value in self.options.items() if key.lower() not in names}


Make = Callable[[], "DataFrame"]
"""Opens a batch DataFrame."""


@dataclass(frozen=True, slots=True)
class NoBatchForm:
    """Why a stream, or one of its sources, cannot be run as a batch job."""

    reason: str


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed to open a range of a source as a batch."""

    spark: SparkSession
    """The session."""
    reading: Reading
    """What the code reads."""
    read_at: Callable[[str], Reader]
    """Reads files at a location as the session does."""
    errors: tuple[type[Exception], ...]
    """What a call into Spark can raise."""
    first_line: Callable[[BaseException], str]
    """Says what went wrong, without secrets."""


def _text(value: OptionValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
