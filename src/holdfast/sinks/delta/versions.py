"""Which version of a Delta table holds what of a stream: read from the notes of its commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from holdfast.formats.delta_log import Commit, walk_back
from holdfast.sinks.batch_versions import Version, newest_by_batch
from holdfast.sinks.delta.commit_notes import decode_row

if TYPE_CHECKING:
    from holdfast.ledger.row import LedgerRow
    from holdfast.storage.read import Reader

COMMITS_LOOKED_AT = 1_000
"""For streams that share the table."""


def walk_rows(reader: Reader, newest: int, *, stream: str) -> Iterator[tuple[Commit, LedgerRow]]:
    """Yield the commits that carry a row of a stream, the newest first."""
    for commit in walk_back(reader, newest):
        row = decode_row(commit.note)
        if row is not None and row.stream == stream:
            yield commit, row


def find_other_streams(reader: Reader, newest: int, *, stream: str) -> tuple[str, ...]:
    """Return the other streams whose rows the newest commits carry."""
    commits = islice(walk_back(reader, newest), COMMITS_LOOKED_AT)
    rows = (decode_row(commit.note) for commit in commits)
    return tuple(sorted({row.stream for row in rows if row is not None} - {stream}))


def find_version_before(
    rows: Iterable[tuple[Commit, LedgerRow]], *, generation: int, batch: int
) -> str | None:
    """Return the version before the oldest of the newest commits that carry a row.

    None when no other row stands before them: the oldest may be gone from the log.
    """
    oldest = None
    for commit, row in rows:
        if (row.generation, row.last_batch) == (generation, batch):
            oldest = commit.version
        elif oldest is not None:
            return str(oldest - 1)
        elif row.generation != generation:
            return None
    return None


def find_batch_versions(rows: Iterable[tuple[Commit, LedgerRow]]) -> Mapping[int, str]:
    """Return the newest version that holds a stream just up to each batch, as far as the log goes.

    See `newest_by_batch`.
    """
    return newest_by_batch(
        Version(version=str(commit.version), generation=row.generation, last_batch=row.last_batch)
        for commit, row in rows
    )
