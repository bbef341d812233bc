"""What a Delta table can still give to a stream that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from holdfast.sources.probe import Found


class SchemaChange(StrEnum):
    """What a commit does to the columns of the table."""

    NONE = "none"
    ADDED = "added"
    """Columns were added, and nothing else was changed."""
    OTHER = "other"
    """Columns were renamed, dropped or changed in type."""
    UNKNOWN = "unknown"
    """It sets the columns, and what they were before is not known."""


class SourceCommit(msgspec.Struct, frozen=True, kw_only=True):
    """One commit of the table; files and rows are those that change data."""

    version: int
    operation: str = ""
    written_ms: int | None = None
    added_files: int = 0
    removed_files: int = 0
    added_rows: int | None = None
    """In the added files; None when one of them does not say."""
    new_rows: int | None = None
    """That were inserted or updated, as the commit counts them; None when it does not say."""
    deleted_rows: int | None = None
    schema: SchemaChange = SchemaChange.NONE

    @property
    def is_append(self) -> bool:
        """Whether a stream can read it as new rows only."""
        return self.removed_files == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaSource(Found):
    """What was found."""

    display_name: str
    """As people know it."""
    needed_id: str
    """The id of the table that the checkpoint has read."""
    needed_version: int
    """The first version that the next batch reads."""
    is_in_snapshot: bool = False
    """Whether the stream still reads the snapshot that it began with."""
    table_id: str | None = None
    """Of the table that is there now; None when nothing that was read says it."""
    earliest: int | None = None
    """The oldest version whose commit is there; None when there is no table."""
    newest: int = -1
    commits: tuple[SourceCommit, ...] = ()
    """From a few before the needed version on, oldest first."""
    missing: tuple[int, ...] = ()
    """Versions from the needed one on whose commits are not there, of those looked for."""
    damaged: tuple[int, ...] = ()
    """Versions whose commits cannot be understood."""
    unread: int = 0
    """How many of the pending versions were not looked at: there are too many."""
    files: int = 0
    """Data files that the pending versions added."""
    files_checked: int = 0
    files_gone: int = 0
    """Of those checked."""
    gone_version: int | None = None
    """The first version that a missing data file belongs to."""

    @property
    def is_same_table(self) -> bool:
        """Whether the table is there, and is not known to be another one."""
        return self.newest >= 0 and self.table_id in (None, self.needed_id)

    @property
    def pending(self) -> tuple[SourceCommit, ...]:
        """The commits that the stream has not read, oldest first."""
        if not self.is_same_table:
            return ()
        first = self.needed_version + (1 if self.is_in_snapshot else 0)
        return tuple(each for each in self.commits if each.version >= first)
