"""What the log of Spark's file sink tells of the batches in an output directory."""

from __future__ import annotations

import msgspec


class SinkBatch(msgspec.Struct, frozen=True, kw_only=True):
    """One batch that has an entry of its own in the log."""

    batch: int
    files: int = 0
    written_ms: int = 0
    """When its newest file was written, by the store's clock; 0 when it has none."""


class FileOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    display_name: str
    """As people know it."""
    location: str = ""
    """Where it is; empty when it is not said."""
    has_log: bool = True
    """Whether there is a `_spark_metadata` with an entry."""
    has_files: bool = False
    """Whether the directory has data files."""
    newest: int | None = None
    """The newest batch in the log; a batch up to it is not written again."""
    compact: int | None = None
    """The batch of the newest compact file, which holds every entry up to it."""
    compact_bytes: int = 0
    interval: int = 10
    """Every so many batches Spark makes a compact file; its default where the log does not say."""
    holes: tuple[int, ...] = ()
    """Batches above the newest compact file that have no entry, the first ten."""
    unreadable: tuple[str, ...] = ()
    """Files of the log that Spark reads and that were not understood, each with the reason."""
    unread: tuple[str, ...] = ()
    """Files of the log that could not be read, or are too large, each with the reason."""
    batches: tuple[SinkBatch, ...] = ()
    """Above the newest compact file, lowest first."""
    first_ms: int | None = None
    """When the oldest file in the log was written; None when that is not known."""
    last_ms: int | None = None
    files: int = 0
    """Files that the log lists."""
    elsewhere: int = 0
    """Of those, files that are not in this directory."""
    first_elsewhere: str = ""
    unlisted: int = 0
    """Data files in the directory, of those that were looked at, that the log does not list."""
    first_unlisted: str = ""
    looked: int = 0
    """Data files that were looked at."""

    def next_compaction(self, after: int) -> int:
        """Return the first batch after one at which Spark compacts the log."""
        return ((after + 1) // self.interval + 1) * self.interval - 1
