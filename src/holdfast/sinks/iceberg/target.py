"""The table that a start has found and checked: what one writer commits to."""

from __future__ import annotations

import msgspec


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """An Iceberg table in a catalog."""

    name: str
    """As SQL takes it."""
    uuid: str | None = None
    """Iceberg's own id of it; None while there is no table."""
    commits_by: str = ""
    """The class of Iceberg that commits to its catalog."""
    schema_id: int | None = None
    """Of the columns that were compared with those of the stream."""
    missing: tuple[tuple[str, str], ...] = ()
    """Columns with their types that the table has and the stream has not: they are NULL."""
    keys: tuple[str, ...] = ()
    sequence_by: str | None = None
    is_ordered: bool = True
    """Whether Spark can compare values of every column; of maps it cannot."""
    is_loose: bool = False
    """Whether rows with different bytes can be equal column by column: `-0.0` and `0.0`."""
    is_evolving: bool = False
    """Columns are never added by a batch."""

    @property
    def is_missing(self) -> bool:
        """Whether there is no table yet."""
        return self.uuid is None
