"""What a source of files can still give: values that the rules judge.

All files of batches that are not committed are looked at, up to a bound, and a sample of the rest:
what was looked at is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import msgspec

from holdfast.sources.probe import Found

MAX_FILE_AGE = timedelta(days=7)
"""Spark's `maxFileAge`, by default: a file that is older than the newest one by more is ignored."""


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """What is in the directories of the logged files, and not in the log."""

    files: int = 0
    """How many files were listed, those of the log included."""
    waiting: int = 0
    """Files that are not in the log and new enough: the next batches read them."""
    too_old: int = 0
    """Files that are not in the log, and older than Spark still accepts by default."""
    first_too_old: str = ""
    is_whole: bool = True
    """Whether everything in those directories was listed."""


class LookedAt(msgspec.Struct, frozen=True, kw_only=True):
    """What became of some of the files in the log."""

    files: int = 0
    """How many there are."""
    looked: int = 0
    """How many were looked at."""
    gone: int = 0
    changed: int = 0
    """Written again after the source logged them."""
    first_gone: str = ""
    first_changed: str = ""

    def __str__(self) -> str:
        return f"{self.looked:,} of {self.files:,} looked at"


_NOTHING_LOOKED_AT, _NOTHING_LISTED = LookedAt(), Listed()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSource(Found):
    """What was found."""

    display_name: str
    """As people know it: `files in s3a://lake/in`."""
    directory: str = ""
    """What the logged files have in common: `s3a://lake/in`."""
    last_directory: str = ""
    """Of the file that was logged last."""
    roots: tuple[str, ...] = ()
    """Schemes and authorities of the logged paths, in the order they appear: `s3a://lake`."""
    logged: int = 0
    """Entries of the log that were read."""
    is_whole: bool = True
    """Whether the log was read completely; if not, its figures are of evenly spaced slices."""
    compact_bytes: int = 0
    """Of the newest compact file, which Spark writes anew every tenth time."""
    newest_ms: int | None = None
    """The highest timestamp in the log."""
    newest_path: str = ""
    future_ms: int = 0
    """How far the highest timestamp was in the future when it was looked at; 0 when it was not."""
    pending: LookedAt = _NOTHING_LOOKED_AT
    """Files of batches that are not committed: a restart reads them."""
    read: LookedAt = _NOTHING_LOOKED_AT
    """The other files of the log, of which a sample is looked at."""
    repeated: int = 0
    """Files that are in the log under two schemes or authorities."""
    odd_paths: int = 0
    """Paths in the log that Spark does not write; they were not opened."""
    listed: Listed = _NOTHING_LISTED
    """What is in the directories beside the logged files."""
    unreadable: tuple[str, ...] = ()
    """Files of the log that were not understood, each with the reason."""
