"""The table that a start has found and checked: what one writer writes into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.sinks.postgres.encode import Encoder
from holdfast.sinks.postgres.storage import table_oid


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table, found by its name."""

    name: str
    """Quoted, with its schema: no `search_path` can make it another table."""
    display_name: str
    """Schema and table as people write them."""
    storage: str
    """As the ledger keeps it; its first number is the table's oid."""

    @property
    def oid(self) -> int:
        """Of the table."""
        return table_oid(self.storage)

    @property
    def is_partitioned(self) -> bool:
        """Whether its rows are in partitions: it has no file of its own."""
        return self.storage.partition("\n")[0].endswith("/0")

    @property
    def own_rows(self) -> str:
        """What a statement names to mean its own rows: tables that inherit from it have theirs."""
        return self.name if self.is_partitioned else f"ONLY {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A column by which rows are merged, and what its unique index takes for equal."""

    name: str
    equal_by: str | None = None
    """The collation to compare it by, quoted; None for the column's own."""
    conflict_by: str | None = None
    """The collation of the index, where `ON CONFLICT` must name it."""
    is_loose: bool = False
    """Whether values with different bytes are equal: then the newer row's value is kept."""

    def equal(self, side: str = "") -> str:
        """Return the expression that is equal for equal keys."""
        return f"{side}{quote(self.name)}" + (f" COLLATE {self.equal_by}" if self.equal_by else "")

    @property
    def conflict(self) -> str:
        """The key as `ON CONFLICT` names it."""
        return quote(self.name) + (f" COLLATE {self.conflict_by}" if self.conflict_by else "")


PART = "holdfast_part"
"""The column by which a table is partitioned whose batches are attached."""


class Attaching(NamedTuple):
    """A table whose batches are attached as partitions, with its name in two parts, not quoted."""

    namespace: str
    relation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target(Table):
    """A table, and how each column of the stream is written into it."""

    shape: str
    """The stream's columns in the table, with the types that the encoders were made for."""
    columns: tuple[str, ...]
    encoders: tuple[Encoder, ...]
    keys: tuple[str, ...] = ()
    sequence_by: str | None = None
    is_ordered: bool = True
    """Whether PostgreSQL can compare values of every column; of type json it cannot."""
    orders: Mapping[str, str] = field(default_factory=dict)
    """Of each column, the expression that orders its values by their bytes, as Spark does."""
    is_loose: bool = False
    """Whether rows with different bytes can be equal column by column: `-0.0` and `0.0`."""
    merged_by: tuple[Key, ...] = ()
    """The keys as the unique index compares them."""
    loose_texts: frozenset[str] = frozenset()
    """The columns that take different texts for equal."""
    attaching: Attaching | None = None
    """Set where batches are attached as partitions; None where rows are copied into the table."""

    def ordered(self, column: str, value: str) -> str:
        """Return the expression that orders a value of a column by its bytes."""
        return self.orders.get(column, "{}").replace("{}", value)

    @property
    def column_list(self) -> str:
        """The columns, quoted."""
        return ", ".join(map(quote, self.columns))


def quote(name: str) -> str:
    """Return an identifier that can be nothing else."""
    return '"' + name.replace('"', '""') + '"'


def quote_table(table: str) -> str:
    """Return a table's name, quoted part by part: `public.readings` has two."""
    return ".".join(map(quote, table.split(".", 1)))
