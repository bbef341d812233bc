"""The table that a start has found and checked: what one writer writes into."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.sinks.postgres.encode import Encoder
from holdfast.sinks.postgres.storage import table_oid


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table, found by its name."""

    name: str
    """Quoted, with its schema: no `search_path` can make it another table."""
    shown: str
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
    texts: frozenset[str] = frozenset()
    """The columns of text, which are compared byte by byte and not as a language has it."""

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
