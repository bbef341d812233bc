"""Whether an Iceberg table is still as a stream has left it, from its metadata alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.formats.iceberg_metadata import IcebergTable, Snapshot
from holdfast.sinks.iceberg.notes import Written, decode_note
from holdfast.spark.errors import spark_errors

if TYPE_CHECKING:
    from holdfast.sinks.iceberg.view import TableView

_SOURCE = "source-snapshot-id"
"""In the summary of a snapshot that was cherry-picked: the one that it was made of."""


def find_change(view: TableView, written: Written) -> str | None:
    """Say what shows that a table does not hold what its ledger row says; None if nothing does."""
    if view.uuid != written.uuid:
        return "it is another table: its id differs from the one in the ledger row"
    head = view.head
    if head == written.snapshot:
        return None
    if head is None:
        return f"its branch main is empty, and snapshot {written.snapshot} was committed to it"
    table = view.metadata()
    lost = _find_lost(view, table, written.snapshot)
    if lost is not None:
        return lost
    since = _since(table, written.snapshot)
    found = (_find_damage(table, snapshot, written.row.stream) for snapshot in since)
    return next(filter(None, found), None)


def _since(table: IcebergTable, wanted: int) -> Iterator[Snapshot]:
    for snapshot in table.history():
        if snapshot.snapshot_id == wanted:
            return
        yield snapshot


def _find_lost(view: TableView, table: IcebergTable, wanted: int) -> str | None:
    """Say why `main` does not come from a snapshot, or why that is not known."""
    oldest = None
    for snapshot in table.history():
        if wanted in (snapshot.snapshot_id, snapshot.parent_id):
            return None
        oldest = snapshot
    if oldest is None or oldest.parent_id is None:
        return f"main does not come from snapshot {wanted}: it was rolled back or replaced"
    return _find_lost_before(view, table, wanted)


def _find_damage(table: IcebergTable, snapshot: Snapshot, stream: str) -> str | None:
    """Say what a commit since ours has done to the rows of a stream."""
    source = snapshot.summary.get(_SOURCE, "")
    made_of = table.snapshots.get(int(source)) if source.isdecimal() else None
    notes = [decode_note(each) for each in (snapshot, made_of)]
    if any(note is not None and note.stream == stream for note in notes):
        return (
            f"snapshot {snapshot.snapshot_id} published what the stream had staged: a batch may be "
            "in it twice"
        )
    is_of_another = notes[0] is not None
    if takes_all(snapshot) and not is_of_another:
        operation = snapshot.operation
        return f"snapshot {snapshot.snapshot_id} ({operation}) took out or rewrote every row"
    return None


def takes_all(snapshot: Snapshot) -> bool:
    """Return whether a commit left nothing of what was there before it."""
    if snapshot.operation not in ("delete", "overwrite"):
        return False
    added, total, gone = (
        _count(snapshot, name) for name in ("added-records", "total-records", "deleted-records")
    )
    is_partitioned = snapshot.summary.get("replace-partitions") == "true"
    return is_partitioned or (gone > 0 and total == added)


def changes_rows(snapshot: Snapshot) -> bool:
    """Return whether a commit changed rows: a compaction does not, nor does an empty snapshot."""
    if snapshot.operation == "replace":
        return False
    names = ("added-data-files", "deleted-data-files", "added-delete-files", "removed-delete-files")
    return any(_count(snapshot, name) for name in names)


def _count(snapshot: Snapshot, name: str) -> int:
    text = snapshot.summary.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _find_lost_before(view: TableView, newest: IcebergTable, wanted: int) -> str | None:
    """Follow `main` through the older metadata files, where an expiry has cut its history."""
    newer = newest
    try:
        for older in view.older():
            was, now = older.current_id, newer.current_id
            if was != now and not _comes_from(newer, was):
                return f"main went from snapshot {was} to {now}, which does not come from it"
            if was == wanted:
                return None
            newer = older
    except spark_errors():
        pass  # a metadata file is gone: from here on nothing is known
    return (
        f"snapshot {wanted} was expired, and the metadata files that are left do not show whether "
        "main still comes from it"
    )


def _comes_from(table: IcebergTable, was: int | None) -> bool:
    return was is None or any(was in (each.snapshot_id, each.parent_id) for each in table.history())
