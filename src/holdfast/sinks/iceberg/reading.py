"""Reads the ledger of an Iceberg table, and what its metadata says of the streams into it.

How the table is looked at is left open: with a step of a session, or with the metadata file that a
catalog names.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.ledger.output import KeepOutput, Output
from holdfast.ledger.store import LedgerStore, Since, Unreadable
from holdfast.sinks.iceberg.change import changes_rows, find_change
from holdfast.sinks.iceberg.failures import IcebergTableError
from holdfast.sinks.iceberg.notes import Written, decode_row, property_of, streams_in
from holdfast.sinks.iceberg.settle import Settling
from holdfast.sinks.iceberg.versions import find_batch_versions, find_version_before

if TYPE_CHECKING:
    from holdfast.formats.iceberg_metadata import IcebergTable
    from holdfast.ledger.row import LedgerRow
    from holdfast.sinks.iceberg.sink import Iceberg
    from holdfast.sinks.iceberg.view import TableView


class LedgerReader(LedgerStore, abstract=True):
    """As much of the ledger of one table as reading is."""

    keeps_versions = True

    def __init__(self, sink: Iceberg) -> None:
        """Read nothing yet."""
        self._sink = sink
        self._labels: dict[str, str] = {}
        self._examined: dict[str, int | None] = {}

    @abstractmethod
    def look(self) -> TableView | None:
        """Return the table as it is now; None without a table.

        Raises:
            HoldfastError: It could not be looked at.
        """

    def label(self, stream: str) -> str:
        """Return the name under which the ledger has the stream's row."""
        return self._labels.get(stream, self._sink.label)

    def find(self, stream: str) -> tuple[TableView, Written | None] | None:
        """Return the table as it is now and the row in it; None without a table.

        Raises:
            HoldfastError: It could not be looked at, or what is in the place of the row is none.
        """
        view = self.look()
        return None if view is None else (view, self.written(view, stream))

    def written(self, view: TableView, stream: str) -> Written | None:
        """Return the row of a stream in what was looked at; None without one.

        Raises:
            IcebergTableError: What is in the place of the row is none.
        """
        text = view.property(property_of(stream))
        written = None if text is None else decode_row(text)
        if text is not None and written is None:
            name = property_of(stream)
            raise IcebergTableError(
                self._sink.display_name,
                why=f"Its property {name} is not a ledger row: another program has changed it.",
                how=f"Set {name} to the value that it had; older metadata files have it.",
            )
        if written is not None:
            self._labels[stream] = written.row.sink
        return written

    def read(self, stream: str) -> LedgerRow | Unreadable | None:
        """Return the ledger row of a stream; None without one, or without a table."""
        try:
            found = self.find(stream)
        except HoldfastError as error:
            return Unreadable.by(error)
        return None if found is None or found[1] is None else found[1].row

    def examine(self, row: LedgerRow) -> str | None:
        """Say what shows that the table is not as the stream has left it."""
        found = self.find(row.stream)
        if found is None or found[1] is None:
            return "it was dropped, or replaced by another table"
        self._examined[row.stream] = found[0].head
        return find_change(found[0], found[1])

    def settling(self, view: TableView, stream: str) -> Settling:
        """Return what says how the table could be settled for a stream."""
        return Settling(table=view.metadata(), display_name=self._sink.display_name, stream=stream)

    def metadata(self, stream: str) -> IcebergTable | None:
        """Return all that the newest metadata says; None without a table."""
        return found[0].metadata() if (found := self.find(stream)) is not None else None

    def since(self, stream: str, *, generation: int) -> Since:
        """Say what the history of `main` has since a generation was opened."""
        found = self.find(stream)
        if found is None:
            return Since(unclear="there is no such table")
        return self.settling(found[0], stream).since(generation)

    def find_obstacle(self, new: LedgerRow, output: Output) -> str | None:
        """Say why the table could not be settled, from its metadata."""
        if isinstance(output, KeepOutput):
            return None
        found = self.find(new.stream)
        if found is None:
            return f"{self._sink.display_name} is gone."
        return self.settling(found[0], new.stream).find_obstacle(output)

    def table_version(self, stream: str) -> str | None:
        """Return the newest snapshot of `main`; None when there is no table."""
        found = self.find(stream)
        return None if found is None or found[0].head is None else str(found[0].head)

    def has_changed(self, stream: str, seen: str | None) -> bool:
        """Return whether a commit since then has changed rows: a fence has not."""
        if seen is None:
            return False
        table = self.metadata(stream)
        for snapshot in () if table is None else table.history():
            if str(snapshot.snapshot_id) == seen:
                return False
            if changes_rows(snapshot):
                return True
        return True

    def other_streams(self, stream: str) -> tuple[str, ...]:
        """Return the other streams that have a ledger row in the table."""
        table = self.metadata(stream)
        found = [] if table is None else streams_in(table.properties)
        return tuple(name for name in found if name != stream)

    def version_before(self, stream: str, *, generation: int, batch: int) -> str | None:
        """Return the snapshot before the oldest of the newest ones that end with a batch."""
        table = self.metadata(stream)
        if table is None:
            return None
        return find_version_before(table, stream, generation=generation, batch=batch)

    def batch_versions(self, stream: str) -> Mapping[int, str]:
        """Return the newest snapshot that holds the stream just up to each batch."""
        table = self.metadata(stream)
        return {} if table is None else find_batch_versions(table, stream)

    def close(self) -> None:
        """Forget what was examined; nothing is open."""
        self._examined.clear()
