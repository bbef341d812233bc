"""The ledger of an Iceberg table without Spark: what its catalog calls current is read.

Nothing is committed from here. A snapshot needs a list of manifests, which Iceberg's own classes
write, and a catalog's compare-and-swap, which they know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from holdfast.errors import ConfigError, HoldfastError
from holdfast.ledger.output import Output
from holdfast.sinks.iceberg.catalogs import CatalogReader, TableName
from holdfast.sinks.iceberg.failures import IcebergTableError
from holdfast.sinks.iceberg.reading import LedgerReader
from holdfast.sinks.iceberg.view import MetadataView
from holdfast.sinks.secrets import shown_name

if TYPE_CHECKING:
    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.iceberg.sink import Iceberg
    from holdfast.sinks.secrets import Secret


class CatalogLedgerStore(LedgerReader):
    """The ledger of one table, by the catalog that its `catalog=` names."""

    def __init__(self, sink: Iceberg, secret: Secret, options: Mapping[str, str]) -> None:
        """Ask nothing yet.

        Args:
            sink: The table.
            secret: Where its catalog is.
            options: Of the store that has its metadata files.
        """
        super().__init__(sink)
        catalog, *namespace, table = sink.parts
        place = TableName(catalog=catalog, namespace=namespace, table=table)
        self._reader = CatalogReader(secret, place, options=options)
        self._options = options

    def look(self) -> MetadataView | None:
        """Return the table as its catalog has it now; None without a table.

        Raises:
            HoldfastError: The catalog, or the metadata file that it names, could not be read.
        """
        found = self._reader.current()
        return None if found is None else MetadataView(found, self._options)

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        """Refuse: a fence is a commit."""
        del row, epoch, nonce
        self._refuse()

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        """Refuse: a row is a commit."""
        del old, new
        self._refuse()

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        """Refuse: rows are settled in a commit."""
        del old, new, output, seen
        self._refuse()

    def close(self) -> None:
        """Close what is open, and forget what was examined."""
        super().close()
        self._reader.close()

    def _refuse(self) -> NoReturn:
        catalog = self._sink.parts[0]
        raise ConfigError(
            f"{self._sink.display_name[0].upper()}{self._sink.display_name[1:]} is changed by a "
            f"Spark session with the catalog {catalog}, and there is none here: give it the "
            f"settings spark.sql.catalog.{catalog}.*, or call hf.apply_plan with a session."
        )


def say_catalog(sink: Iceberg, uuid: str | None) -> str:
    """Say why commands without Spark could not read a table; empty if they can, or are not to.

    Args:
        sink: The table.
        uuid: As the session knows it; None while there is no table.

    Raises:
        IcebergTableError: The catalog that is named has another table of this name, or none.
    """
    if sink.catalog is None or uuid is None:
        return ""
    store = CatalogLedgerStore(sink, sink.catalog, {})
    try:
        found = store.look()
    except HoldfastError as error:
        return (
            f"{sink.display_name} cannot be read from its catalog ({shown_name(sink.catalog)}) "
            f"here: {error.why} Commands without a Spark session may not know its ledger"
        )
    finally:
        store.close()
    if found is None or found.uuid != uuid:
        other = "no table of this name" if found is None else "another table of this name"
        raise IcebergTableError(
            f"The Iceberg table {sink.table}",
            why=f"The catalog of catalog= ({shown_name(sink.catalog)}) has {other}.",
            how="Name in catalog= the catalog that the session uses.",
        )
    return ""
