"""One commit to an Iceberg table as a compare-and-swap, by Iceberg's own classes in Spark's JVM.

Iceberg's own retries rebase a change onto whatever is there by then, so they cannot carry a ledger
row. A step builds the new metadata with a transaction that is never committed as one, and gives it
to the catalog together with the metadata that it was built on: the catalog takes it only while that
is current. `BaseTransaction` and `TableOperations` are public classes of Iceberg's core, not of its
API: every version in the table of versions is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

import msgspec

from holdfast.formats.iceberg_metadata import IcebergTable, Snapshot, parse_metadata
from holdfast.spark.classic.jvm import Java, text_or_none

_SNAPSHOT = msgspec.json.Decoder(Snapshot)


class IcebergTables(Protocol):
    """The tables of a session's catalogs, as Iceberg's own classes give them."""

    def begin(self, name: str) -> IcebergStep:
        """Return a step on the newest metadata of a table.

        Raises:
            Exception: One of `spark_errors()`; the catalog has no such table, or does not answer.
        """


class IcebergStep:
    """What a table is, and what becomes of it in one commit."""

    def __init__(self, jvm: Java, table: Java) -> None:
        """Look at the newest metadata."""
        self._java = jvm
        self._table = table
        self._transaction = table.newTransaction()  # which refreshes it
        self._base = self._transaction.startMetadata()

    @property
    def uuid(self) -> str:
        """The table's own id."""
        return str(self._base.uuid())

    @property
    def location(self) -> str:
        """The directory of the table."""
        return str(self._base.location())

    @property
    def format_version(self) -> int:
        """Of the table: 1, 2 or 3."""
        return int(self._base.formatVersion())

    @property
    def schema_id(self) -> int:
        """Of its columns: another one after every change."""
        return int(self._base.currentSchemaId())

    @property
    def commits_by(self) -> str:
        """The class of Iceberg that commits to its catalog, such as `JdbcTableOperations`."""
        return str(self._transaction.underlyingOps().getClass().getSimpleName())

    @property
    def head(self) -> int | None:
        """The newest snapshot of `main`, as it was looked at; None without one."""
        return _head(self._base)

    @property
    def new_head(self) -> int | None:
        """The newest snapshot of `main`, after what was put into this step."""
        return _head(self._transaction.currentMetadata())

    def property(self, name: str) -> str | None:
        """Return a property of the table; None without it."""
        return text_or_none(self._base.properties().get(name))

    def snapshot_of(self, ref: str) -> int | None:
        """Return the snapshot of a branch; None without the branch."""
        found: Java | None = self._base.ref(ref)
        return None if found is None else int(found.snapshotId())

    def refs(self) -> list[str]:
        """Return the names of all branches and tags."""
        return [str(name) for name in self._base.refs()]

    def snapshot(self, number: int) -> Snapshot | None:
        """Return a snapshot; None when it was expired."""
        found: Java | None = self._base.snapshot(number)
        if found is None:
            return None
        return _SNAPSHOT.decode(str(self._java.org.apache.iceberg.SnapshotParser.toJson(found)))

    def metadata(self) -> IcebergTable:
        """Return all that was looked at."""
        return self._parsed(self._base)

    def older(self) -> Iterator[IcebergTable]:
        """Yield what the table was before, newest first, as far as its metadata files are kept."""
        for entry in reversed(list(self._base.previousFiles())):
            parser = self._java.org.apache.iceberg.TableMetadataParser
            yield self._parsed(parser.read(self._table.io(), entry.file()))

    def _parsed(self, metadata: Java) -> IcebergTable:
        text = str(self._java.org.apache.iceberg.TableMetadataParser.toJson(metadata))
        found = parse_metadata(str(text_or_none(metadata.metadataFileLocation())), text.encode())
        assert isinstance(found, IcebergTable), found.why  # Iceberg itself has written it
        return found

    def append_nothing(self, notes: Mapping[str, str]) -> None:
        """Put a snapshot without files on `main`: catalogs compare refs, and some compare no more.

        Args:
            notes: Its summary has them.
        """
        self._noted(self._transaction.newFastAppend(), notes)

    def delete_all(self, notes: Mapping[str, str]) -> None:
        """Take all rows out of `main`; the snapshots before keep them."""
        everything = self._java.org.apache.iceberg.expressions.Expressions.alwaysTrue()
        self._noted(self._transaction.newDelete().deleteFromRowFilter(everything), notes)

    def cherrypick(self, staged: int) -> None:
        """Bring `main` to a snapshot, or carry what it added over to where `main` is now."""
        self._transaction.manageSnapshots().cherrypick(staged).commit()

    def set_current(self, snapshot: int) -> None:
        """Bring `main` to any snapshot that the table has."""
        self._transaction.manageSnapshots().setCurrentSnapshot(snapshot).commit()

    def move_branch(self, name: str, snapshot: int, *, drop: Iterable[str]) -> None:
        """Have a branch at a snapshot, and drop others."""
        managed = self._transaction.manageSnapshots()
        for other in drop:
            managed.removeBranch(other)
        if self.snapshot_of(name) is None:
            managed.createBranch(name, snapshot)
        elif self.snapshot_of(name) != snapshot:
            managed.replaceBranch(name, snapshot)
        managed.commit()

    def set_property(self, name: str, value: str) -> None:
        """Set a property of the table."""
        self._transaction.updateProperties().set(name, value).commit()

    def commit(self) -> None:
        """Commit, if the table is still what was looked at.

        Raises:
            Exception: One of `spark_errors()`. None of them says that it was not committed.
        """
        self._transaction.underlyingOps().commit(self._base, self._transaction.currentMetadata())

    @staticmethod
    def _noted(producer: Java, notes: Mapping[str, str]) -> None:
        for name, value in notes.items():
            producer.set(name, value)
        producer.commit()


def _head(metadata: Java) -> int | None:
    found: Java | None = metadata.currentSnapshot()
    return None if found is None else int(found.snapshotId())
