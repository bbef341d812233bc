"""What an Iceberg table is at one moment: from a session's step, or from its metadata file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from holdfast.errors import LocationError, ReadError
from holdfast.formats.iceberg_metadata import MOST_BYTES, IcebergTable, NoTable, parse_metadata
from holdfast.storage.open import open_reader


class TableView(Protocol):
    """A table as it was looked at; `IcebergStep` is one too."""

    @property
    def uuid(self) -> str:
        """The table's own id."""

    @property
    def head(self) -> int | None:
        """The newest snapshot of `main`; None without one."""

    def property(self, name: str) -> str | None:
        """Return a property of the table; None without it."""

    def metadata(self) -> IcebergTable:
        """Return all that was looked at."""

    def older(self) -> Iterator[IcebergTable]:
        """Yield what the table was before, newest first, as far as its metadata files are kept."""


class MetadataView:
    """A table as the metadata file says that its catalog calls current."""

    def __init__(self, table: IcebergTable, options: Mapping[str, str]) -> None:
        """Read nothing more.

        Args:
            table: What the file says.
            options: Of the store that has the older files.
        """
        self._table = table
        self._options = options

    @property
    def uuid(self) -> str:
        """The table's own id."""
        return self._table.uuid

    @property
    def head(self) -> int | None:
        """The newest snapshot of `main`; None without one."""
        return self._table.current_id

    def property(self, name: str) -> str | None:
        """Return a property of the table; None without it."""
        return self._table.properties.get(name)

    def metadata(self) -> IcebergTable:
        """Return all that was looked at."""
        return self._table

    def older(self) -> Iterator[IcebergTable]:
        """Yield what the table was before, newest first, up to a file that cannot be read."""
        for location in reversed(self._table.older):
            found = read_metadata(location, self._options)
            if isinstance(found, NoTable):
                return
            yield found


def read_metadata(location: str, options: Mapping[str, str]) -> IcebergTable | NoTable:
    """Read one metadata file of a table.

    Args:
        location: As the catalog, or a newer metadata file, names it.
        options: Of its store.
    """
    directory, _, name = location.rpartition("/")
    try:
        raw = open_reader(directory, options).read(name, length=MOST_BYTES + 1)
    except (LocationError, ReadError) as error:
        return NoTable(why=error.why.rstrip("."))
    if raw is None:
        return NoTable(why=f"the metadata file {name} is gone")
    return parse_metadata(location, raw)
