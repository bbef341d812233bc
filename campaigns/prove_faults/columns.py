"""Every type that a sink takes: what a column of it is, and the faults that are planted into it.

What the source has is a value of Python. What the table has is written in the sink's own SQL. Both
are written down by hand: nothing of Holdfast says what a value is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

DAY_US = 86_400_000_000
YEAR_10000_US = 253_402_300_800_000_000
IDES = -735_160
"""15 March 44 BC, as days since 1970."""
UUID = "0e37df36-f698-11e6-8dd4-cb9ced3df976"
WITH_ZONE, NO_ZONE = pa.timestamp("us", tz="UTC"), pa.timestamp("us")
MONEY = pa.decimal128(10, 2)
ALL_NINES = Decimal("9" * 38)
SMALLEST = Decimal("1e-18")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column, with the same value in every row."""

    name: str
    arrow: Any
    """Its type in the files that the stream reads."""
    value: Any
    """As pyarrow takes it: times as microseconds, dates as days."""
    faults: Mapping[str, str]
    """What is planted, as the sink's SQL has it, by what is wrong with it."""
    target: str = ""
    """Its type in PostgreSQL; in Delta it is that of the stream."""
    written: str = ""
    """The value as PostgreSQL's SQL has it."""


@dataclass(frozen=True, slots=True)
class Plant:
    """One fault, in one row."""

    row: int
    column: Column
    label: str

    @property
    def sql(self) -> str:
        """The value that is planted."""
        return self.column.faults[self.label]


def plants_of(columns: tuple[Column, ...]) -> tuple[Plant, ...]:
    """Return every fault of these columns, each in a row of its own."""
    faults = [(column, label) for column in columns for label in column.faults]
    return tuple(Plant(row, *fault) for row, fault in enumerate(faults))
