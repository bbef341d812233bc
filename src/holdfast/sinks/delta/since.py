"""What has happened to a Delta table since a generation of a stream was opened in it.

Read from the log alone. Delta knows which commit is whose; it does not know which row is whose once
both the stream and another writer have changed the table.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from holdfast.formats.delta_files import FileChanges, read_file_changes
from holdfast.formats.delta_log import Commit, walk_back
from holdfast.ledger.store import Since
from holdfast.sinks.delta.commit_notes import decode_row

if TYPE_CHECKING:
    from holdfast.storage.read import Reader

_NONE = FileChanges(added=(), removes_data=False)


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The commit that opened a generation, and what came after it."""

    version: int
    """Of the commit that opened it."""
    newest: int
    puts_rows: bool
    """Whether the opening itself put rows into the table."""
    has_written: bool
    """Whether the stream's batches have changed the table since."""
    others: tuple[Commit, ...]
    """The commits of other writers that have changed rows since, the oldest first."""

    @property
    def since(self) -> Since:
        """As every sink says it."""
        told = tuple(
            f"version {each.version} ({each.operation}) was committed by another writer"
            for each in self.others
        )
        is_own = self.has_written or self.puts_rows
        unclear = ""
        if is_own and self.others:
            unclear = (
                "the stream and another writer have both changed the table, and Delta does not "
                "know whose a row is"
            )
        return Since(own_rows=None if is_own else 0, others=told, unclear=unclear)


def find_opening(reader: Reader, newest: int, *, stream: str, generation: int) -> Opened | None:
    """Return what the log says since a generation was opened; None when it does not reach back.

    Raises:
        ReadError: The store did not let us read.
    """
    commits: list[tuple[Commit, bool]] = []
    opened_at: int | None = None
    is_sure = False
    for commit in walk_back(reader, newest):
        row = decode_row(commit.note)
        is_row = row is not None and row.stream == stream
        if row is not None and is_row and row.generation != generation:
            is_sure = row.generation < generation
            break
        is_sure = commit.version == 0
        opened_at = commit.version if is_row else opened_at
        is_own = any(app.startswith(f"holdfast/{stream}/") for app in commit.transactions)
        commits.append((commit, is_own))
    if opened_at is None or not is_sure:
        return None
    changes = {
        commit.version: read_file_changes(reader, commit.version)
        for commit, _ in commits
        if commit.version >= opened_at
    }
    if None in changes.values():
        return None
    later = [(commit, is_own) for commit, is_own in commits if commit.version > opened_at]
    return Opened(
        version=opened_at,
        newest=newest,
        puts_rows=bool((changes[opened_at] or _NONE).added),
        has_written=any(is_own and _changes(changes[at.version]) for at, is_own in later),
        others=tuple(
            commit
            for commit, is_own in reversed(later)
            if not is_own and _changes(changes[commit.version])
        ),
    )


def find_other_writers(
    reader: Reader, newest: int, *, stream: str, after: int, own: Collection[str] = ()
) -> list[Commit]:
    """Return the commits after a version in which other writers have changed rows.

    Args:
        reader: Of the table.
        newest: Its newest version.
        stream: Whose commits do not count.
        after: The version.
        own: Applications whose commits are the stream's too.

    Raises:
        ReadError: The store did not let us read.
    """
    found = []
    for commit in walk_back(reader, newest):
        if commit.version <= after:
            break
        apps = commit.transactions
        is_own = any(app.startswith(f"holdfast/{stream}/") or app in own for app in apps)
        if not is_own and _changes(read_file_changes(reader, commit.version)):
            found.append(commit)
    return found


def changes_rows(reader: Reader, newest: int, *, after: int) -> bool:
    """Return whether rows have changed after a version; also if the log does not tell.

    Raises:
        ReadError: The store did not let us read.
    """
    if newest < after:
        return True
    return any(_changes(read_file_changes(reader, at)) for at in range(after + 1, newest + 1))


def _changes(found: FileChanges | None) -> bool:
    return found is None or bool(found.added) or found.removes_data
