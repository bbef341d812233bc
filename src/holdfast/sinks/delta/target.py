"""The table that a start has found and checked: what one writer commits to."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from holdfast.storage.location import Location
from holdfast.storage.read import Reader


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A Delta table, by its path or by its name in a catalog."""

    name: str
    """As SQL takes it."""
    reader: Reader
    table_id: str | None = None
    """Delta's own, in the table's metadata."""
    columns: tuple[str, ...] = ()
    """Those of the stream that the table has."""
    types: Mapping[str, str] | None = None
    """The stream's columns of a plain type, as Delta names it, by their names in lower case."""
    keys: tuple[str, ...] = ()
    sequence_by: str | None = None
    is_ordered: bool = True
    """Whether Spark can compare values of every column; of maps it cannot."""
    is_loose: bool = False
    """Whether rows with different bytes can be equal column by column: `-0.0` and `0.0`."""
    is_evolving: bool = False
    """Whether the session asks for columns to be added that the table lacks."""
    in_catalog: bool = False
    """Whether it is named in a catalog, which can have another table of that name later."""
    is_missing: bool = False
    """Whether there is no table yet."""

    @property
    def identity(self) -> str:
        """Its location, the same through every link that leads to it.

        A table in a catalog has none before it is created; then its name has to do.
        """
        return identity_of(self.reader.location)


def identity_of(location: Location) -> str:
    """Return a location, the same through every link that leads to it."""
    return os.path.realpath(location.path) if location.is_local else str(location)
