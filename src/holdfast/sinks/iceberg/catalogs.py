"""The catalogs that are asked without Spark which metadata of a table is current.

Only a catalog knows that: the newest file of a directory can be one that was never committed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.formats.iceberg_metadata import IcebergTable, NoTable, parse_metadata
from holdfast.sinks.iceberg.failures import CatalogError
from holdfast.sinks.iceberg.jdbc_catalog import DatabaseCatalog, PostgresCatalog
from holdfast.sinks.iceberg.rest_catalog import SCHEMES, RestCatalog, parse_address
from holdfast.sinks.iceberg.view import read_metadata
from holdfast.sinks.secrets import reveal, shown_name

if TYPE_CHECKING:
    from holdfast.sinks.secrets import Secret

_DATABASES = ("mariadb", "mysql", "sqlite")
_JDBC = (
    "The URL is a JDBC URL. Write it as postgresql://user:password@host:5432/database, "
    "mariadb://user:password@host:3306/database or sqlite:////path/to/catalog.db."
)
_UNKNOWN = (
    "It begins with none of postgresql://, mariadb://, sqlite://, https:// and http://. The "
    "metadata of other catalogs is read by a Spark session only."
)


_KEYWORDS = re.compile(r"\w+\s*=")
"""So begins a DSN of PostgreSQL that is not a URL."""
Catalog = RestCatalog | PostgresCatalog | DatabaseCatalog


class TableName(msgspec.Struct, frozen=True, kw_only=True):
    """A table by its name, taken apart."""

    catalog: str
    namespace: Sequence[str]
    table: str


class CatalogReader:
    """Reads the current metadata of one table, and each metadata file only once."""

    def __init__(self, secret: Secret, name: TableName, *, options: Mapping[str, str]) -> None:
        """Ask nothing yet.

        Args:
            secret: Where the catalog is.
            name: The table.
            options: Of the store that has the metadata files.
        """
        self._secret, self._name, self._options = secret, name, options
        self._catalog: Catalog | None = None
        self._read: tuple[str, IcebergTable] | None = None

    def current(self) -> IcebergTable | None:
        """Return the current metadata; None when the catalog has no such table.

        Raises:
            HoldfastError: The catalog, or the file that it names, could not be read.
        """
        if self._catalog is None:
            self._catalog = self._opened()
        name = self._name
        if isinstance(self._catalog, RestCatalog):
            loaded = self._catalog.load(name.namespace, name.table)
            return None if loaded is None else self._checked(parse_metadata(*loaded))
        location = self._catalog.locate(name.catalog, name.namespace, name.table)
        if location is None:
            return None
        if self._read is None or self._read[0] != location:
            # A file is never written again under its name.
            self._read = location, self._checked(read_metadata(location, self._options))
        return self._read[1]

    def close(self) -> None:
        """Close what is open; the next use opens it again."""
        if self._catalog is not None and not isinstance(self._catalog, RestCatalog):
            self._catalog.close()
        self._catalog = self._read = None

    def _opened(self) -> Catalog:
        found = _open(self._secret, self._name.table)
        if isinstance(found, str):
            raise CatalogError(shown_name(self._secret), why=found)  # no local here has the URL
        return found

    def _checked(self, found: IcebergTable | NoTable) -> IcebergTable:
        if isinstance(found, NoTable):
            why = f"The metadata of {self._name.table} could not be read: {found.why}."
            raise CatalogError(shown_name(self._secret), why=why)
        return found


def _open(secret: Secret, shown: str) -> Catalog | str:
    """Return the catalog that a secret names, or why it names none, without a part of it."""
    text, name = reveal(secret).strip(), shown_name(secret)
    scheme = text.partition("://")[0].lower()
    if scheme in SCHEMES:
        address = parse_address(text)
        return address if isinstance(address, str) else RestCatalog(address, name)
    if scheme in _DATABASES:
        return DatabaseCatalog(secret, name, shown)
    if scheme in ("postgresql", "postgres") or _KEYWORDS.match(text):
        return PostgresCatalog(secret, name)
    return _JDBC if scheme.startswith("jdbc:") else _UNKNOWN
