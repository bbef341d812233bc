"""A table as a start has found it, and how each column of the stream is written into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from holdfast.ledger.output import is_copy
from holdfast.sinks.arrow_columns import Array

Form = Callable[[Array], Array]
"""From an Arrow array to what is sent."""
Row = tuple[Any, ...]
"""A row as the driver reads it."""
Check = Callable[[Array], None]
"""Raises ValueError if the database would change one of the values."""


def parted(table: str) -> tuple[str | None, str]:
    """Return schema and name of a table as a user names it; None for the schema of the session."""
    schema, dot, name = table.partition(".")
    # The name of a copy has a point that parts nothing.
    return (schema, name) if dot and not is_copy(table) else (None, table)


def uniques_of(found: Iterable[Row]) -> tuple[frozenset[str], ...]:
    """Return the columns of each index, from rows of an index and one of its columns."""
    columns: dict[object, set[str]] = {}
    for index, column in found:
        columns.setdefault(index, set()).add(str(column))
    return tuple(map(frozenset, columns.values()))


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of a table."""

    name: str
    kind: str
    """The type without its limits, in small letters: `varchar`; of SQLite its affinity."""
    shown: str
    """The type as the database shows it: `decimal(10,2) unsigned`."""
    is_nullable: bool = True
    has_default: bool = True
    """Whether a row may leave it out."""
    is_generated: bool = False
    is_unsigned: bool = False
    length: int | None = None
    """In characters, of a text; in bytes, of a binary."""
    octets: int | None = None
    precision: int | None = None
    scale: int | None = None
    fraction: int | None = None
    """Digits of a second."""
    charset: str | None = None
    collation: str | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a database says of a table."""

    place: str
    """Database and table, as the ledger keeps it: the same however the table is named."""
    problem: str | None
    """Why it cannot hold data and ledger in one transaction; None if it can."""
    fix: str = ""
    """The statement that changes that."""
    pin: str
    """What is another text once the table was created again or altered."""
    columns: Mapping[str, Column]
    uniques: tuple[frozenset[str], ...]
    """The columns of each unique index that takes only equal values for equal."""


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """How a column of the stream is written."""

    name: str
    form: Form
    """From an Arrow array without NULLs' values changed to what is sent; NULL stays NULL."""
    checks: tuple[Check, ...] = ()
    is_quoted: bool = False
    """Whether a literal of it stands in quotes."""
    is_hex: bool = False
    """Whether it is sent as hexadecimal digits."""
    order: str = "{}"
    """The expression that orders its values by their bytes, as Spark does."""
    is_inexact_key: str = ""
    """Why rows cannot be merged by it; empty if they can."""
    key_checks: tuple[Check, ...] = ()
    """What refuses keys that the unique index takes for others."""
    other_order: str = ""
    """Why the database orders its values by other rules than Spark; empty if it does not."""
    bound: str = ""
    """As what the driver binds its values, where it is told; for a driver that binds."""
    placed: str = "?"
    """What stands for a value of it in an INSERT, of a driver that binds."""


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A table that takes the rows of a stream."""

    name: str
    """Quoted."""
    table: str
    """As the user has named it."""
    display_name: str
    place: str
    shape: tuple[Column, ...]
    """The stream's columns as they are in the table, all that must not change."""
    fields: tuple[Field, ...]
    keys: tuple[str, ...] = ()
    sequence_by: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the stream's columns."""
        return tuple(each.name for each in self.fields)
