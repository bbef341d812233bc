"""A JDBC catalog, asked with one SELECT: its row of a table names the current metadata file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.sinks.iceberg.failures import CatalogError

if TYPE_CHECKING:
    import psycopg

    from holdfast.sinks.database.dialect import Connection, Dialect
    from holdfast.sinks.secrets import Secret

_POINTER = (
    "SELECT metadata_location FROM iceberg_tables WHERE catalog_name = {mark} "
    "AND table_namespace = {mark} AND table_name = {mark}"
)
_NO_TABLES = "Its database has no table iceberg_tables: no JDBC catalog of Iceberg is kept there."


class PostgresCatalog:
    """A catalog in a database of PostgreSQL."""

    def __init__(self, secret: Secret, name: str) -> None:
        """Connect to nothing yet."""
        from holdfast.sinks.postgres.session import Session

        self._session, self._name = Session(secret), name

    def locate(self, catalog: str, namespace: Sequence[str], table: str) -> str | None:
        """Return the current metadata file of a table; None without the table.

        Raises:
            HoldfastError: The database did not answer, or it has no catalog.
        """
        given = [catalog, ".".join(namespace), table]

        def ask(connection: psycopg.Connection) -> object:
            import psycopg

            try:
                return connection.execute(_POINTER.format(mark="%s"), given).fetchone()
            except (
                psycopg.errors.UndefinedTable,
                psycopg.errors.UndefinedColumn,
                psycopg.errors.InsufficientPrivilege,
            ) as error:
                return error.sqlstate

        found = self._session.ask(ask)
        if isinstance(found, str):
            is_refused = found == "42501"
            why = "Its user may not read iceberg_tables." if is_refused else _NO_TABLES
            raise CatalogError(self._name, why=why)
        return _first(found)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


class DatabaseCatalog:
    """A catalog in SQLite or MariaDB."""

    def __init__(self, secret: Secret, name: str, shown: str) -> None:
        """Connect to nothing yet."""
        from holdfast.sinks.database.session import Session

        self._session, self._name = Session(secret, shown), name

    def locate(self, catalog: str, namespace: Sequence[str], table: str) -> str | None:
        """Return the current metadata file of a table; None without the table.

        Raises:
            HoldfastError: The database did not answer, or it has no catalog.
        """
        from holdfast.sinks.database.failures import DatabaseRefusedError

        given = (catalog, ".".join(namespace), table)

        def ask(dialect: Dialect, connection: Connection) -> object:
            if dialect.never_run:
                why = f"Its database is {dialect.product}, where no catalog was ever read."
                raise CatalogError(self._name, why=why)
            cursor = connection.cursor()
            cursor.execute(_POINTER.format(mark=dialect.mark), given)
            return cursor.fetchone()

        try:
            with self._session.naming_refusals():
                return _first(self._session.ask(ask))
        except DatabaseRefusedError as error:
            if not error.has_no_table:
                raise
        raise CatalogError(self._name, why=_NO_TABLES)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()


def _first(row: object) -> str | None:
    """Return the location in a row of the catalog; None without one."""
    values = tuple(row) if isinstance(row, tuple | list) else ()
    return str(values[0]) if values and values[0] else None
