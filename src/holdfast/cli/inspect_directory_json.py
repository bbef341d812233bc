"""The checkpoints below a directory in the form that has a version."""

from __future__ import annotations

from collections import Counter

import msgspec

from holdfast.cli.inspect_directory import DirectoryInspection, Summary
from holdfast.cli.next_start_json import NextStartJson, next_start_json
from holdfast.evidence.checkpoints_below import Found
from holdfast.judgement.judge import Verdict
from holdfast.report.envelope import Answer, fill


class CheckpointRowJson(msgspec.Struct):
    """One checkpoint below a directory, or a directory that could not be read."""

    path: str
    location: str
    passes_check: bool
    summary: str
    unread: str | None
    replaced_by: int | None
    what_to_do: str | None = None
    verdict: str | None = None
    next_start: NextStartJson | None = None
    last_batch: int | None = None
    newest_ms: int | None = None
    sources: tuple[str, ...] = ()


class DirectoryJson(Answer, kw_only=True, tag_field="format", tag="holdfast.inspect-directory"):
    """What `holdfast inspect` found below a directory; those that need attention come first."""

    version: int = 2
    location: str
    passes_check: bool
    directories: int
    totals: dict[str, int]
    checkpoints: tuple[CheckpointRowJson, ...]


def make_directory_document(found: DirectoryInspection) -> DirectoryJson:
    """Return the rows in the form that has a version."""
    totals = Counter(each.verdict.value for each in found.judged)
    totals["unread"] = len(found.unread)
    totals["replaced"] = sum(row.replaced_by is not None for row in found.rows)
    return DirectoryJson(
        location=str(found.location),
        passes_check=found.passes,
        directories=found.directories,
        totals={name: number for name, number in totals.items() if number},
        checkpoints=tuple(map(_row, found.rows)),
    )


def _row(row: Found[Summary]) -> CheckpointRowJson:
    each, where = row.summary, str(row.location)
    if each is None:
        is_replaced = row.replaced_by is not None
        why = f"replaced by generation {row.replaced_by}" if is_replaced else row.unread
        return fill(
            CheckpointRowJson,
            row,
            location=where,
            passes_check=is_replaced,
            summary=why or "",
            what_to_do=row.remedy,
        )
    return fill(
        CheckpointRowJson,
        each,
        path=row.path,
        unread=None,
        replaced_by=None,
        location=where,
        passes_check=each.verdict is Verdict.SAFE,
        summary=each.said,
        next_start=next_start_json(each.next_start, each.spark),
    )
