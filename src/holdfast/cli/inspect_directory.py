"""What one `holdfast inspect` of a directory has found: a row per checkpoint below it.

A row is small whatever its checkpoint has: a directory may hold thousands.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from holdfast.evidence.case import Case
from holdfast.evidence.checkpoints_below import Found, Search
from holdfast.evidence.guard_record import GuardRecord
from holdfast.evidence.outcomes import NextStart
from holdfast.evidence.overview import Overview
from holdfast.evidence.wording import source_kind
from holdfast.judgement.advice import advise
from holdfast.judgement.brief import say_in_short
from holdfast.judgement.judge import ATTENTION, Verdict, judge
from holdfast.spark_versions import SparkVersion
from holdfast.storage.location import Location
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader

_KEPT_FILES = 10
"""Of the files that a prediction follows from."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of one checkpoint that was judged."""

    verdict: Verdict
    said: str
    """What the next start does, in a few words."""
    what_to_do: str
    next_start: NextStart
    spark: SparkVersion
    last_batch: int | None
    """The newest committed batch."""
    newest_ms: int | None
    sources: tuple[str, ...]


class DirectoryInspection(msgspec.Struct, frozen=True, kw_only=True):
    """The checkpoints below a directory, those that need attention first."""

    location: Location
    rows: tuple[Found[Summary], ...]
    directories: int
    """How many were searched."""

    @property
    def judged(self) -> tuple[Summary, ...]:
        """Those that were judged."""
        return tuple(row.summary for row in self.rows if row.summary is not None)

    @property
    def unread(self) -> tuple[Found[Summary], ...]:
        """Those that could not be read."""
        return tuple(row for row in self.rows if row.unread is not None)

    @property
    def passes(self) -> bool:
        """Whether `--check` lets all of them pass; False when there is none."""
        is_any = any(row.replaced_by is None for row in self.rows)
        return (
            is_any and not self.unread and all(each.verdict is Verdict.SAFE for each in self.judged)
        )


def inspect_directory(
    reader: Reader,
    *,
    open_at: Callable[[Location], Reader] = open_reader,
    spark: SparkVersion | None = None,
    tell: Callable[[int], None] = lambda _: None,
) -> DirectoryInspection:
    """Look at every checkpoint below a directory.

    Args:
        reader: Of the directory.
        open_at: Opens a reader of a checkpoint that a stream adopted from elsewhere.
        spark: The version that will be started; by default the newest that can have written each.
        tell: Called with the number of checkpoints so far.

    Raises:
        ReadError: The directory itself cannot be listed.
    """
    search = Search(reader, summarise, open_at=open_at, spark=spark)
    rows = []
    for row in search.run():
        rows.append(row)
        tell(len(rows))
    return DirectoryInspection(
        location=reader.location,
        rows=tuple(sorted(rows, key=_urgency)),
        directories=search.directories,
    )


def summarise(overview: Overview, record: GuardRecord | None) -> Summary:
    """Return what is kept of one checkpoint."""
    progress, found = overview.progress, overview.next_start
    case = Case(checkpoint=overview.checkpoint, overview=overview, record=record)
    judged = judge(case)
    kept = replace(found, follows_from=found.follows_from[:_KEPT_FILES])
    return Summary(
        verdict=judged.verdict,
        said=say_in_short(judged),
        what_to_do=advise(judged),
        next_start=kept,
        spark=overview.spark,
        last_batch=max(progress.committed, default=None),
        newest_ms=progress.newest_ms,
        sources=tuple(source_kind(each.end) for each in progress.sources),
    )


def _urgency(row: Found[Summary]) -> tuple[int, str]:
    """Sort by what needs attention, then by path; what is not started again comes last."""
    if row.unread is not None:
        return 0, row.path
    if row.summary is None:
        return 1 + len(Verdict), row.path
    return 1 + ATTENTION.index(row.summary.verdict), row.path
