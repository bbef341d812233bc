"""Which snapshot of a table holds what of a stream: by the notes in the history of `main`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.formats.iceberg_metadata import IcebergTable, Snapshot
from holdfast.sinks.batch_versions import Version, newest_by_batch
from holdfast.sinks.iceberg.notes import Note, decode_note

Noted = tuple[Snapshot, Note]
"""A snapshot of `main`, and what it says of a stream."""


def walk_notes(table: IcebergTable, stream: str) -> Iterator[Noted]:
    """Yield the snapshots of `main` that end a batch of a stream, or its fence; newest first."""
    for snapshot in table.history():
        note = decode_note(snapshot)
        if note is not None and note.stream == stream:
            yield snapshot, note


def find_own(table: IcebergTable, stream: str) -> frozenset[int]:
    """Return the snapshots of `main` that a stream has written."""
    found = list(walk_notes(table, stream))
    own = {snapshot.snapshot_id for snapshot, _ in found}
    return frozenset(own | {note.data for _, note in found if note.data is not None})


def find_version_before(
    table: IcebergTable, stream: str, *, generation: int, batch: int
) -> str | None:
    """Return the snapshot before the oldest of the newest ones that end with a batch.

    None when no other one of the stream stands before them, because the oldest may be expired, and
    when it put rows back: then `main` was moved, and what it had pointed to is not in its history.
    """
    oldest: Noted | None = None
    for snapshot, note in walk_notes(table, stream):
        if (note.generation, note.last_batch) == (generation, batch):
            oldest = snapshot, note
        elif oldest is not None:
            if oldest[1].restored is not None:
                return None
            first = table.snapshots.get(oldest[1].data or -1, oldest[0])
            return None if first.parent_id is None else str(first.parent_id)
        elif note.generation != generation:
            return None
    return None


def find_batch_versions(table: IcebergTable, stream: str) -> Mapping[int, str]:
    """Return the newest snapshot that holds a stream just up to each batch, as far as main goes.

    See `newest_by_batch`.
    """
    return newest_by_batch(
        Version(
            version=str(snapshot.snapshot_id),
            generation=note.generation,
            last_batch=note.last_batch,
        )
        for snapshot, note in walk_notes(table, stream)
    )
