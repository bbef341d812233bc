"""The checkpoints below a directory in the form that has a version."""

from __future__ import annotations

from collections import Counter

from holdfast.cli.inspect_directory import DirectoryInspection, Summary
from holdfast.cli.inspect_form import CheckpointRowJson, DirectoryJson
from holdfast.cli.next_start_json import next_start_json
from holdfast.evidence.checkpoints_below import Found
from holdfast.version import __version__


def make_directory_document(found: DirectoryInspection) -> DirectoryJson:
    """Return the rows in the form that has a version."""
    totals = Counter(each.verdict.value for each in found.judged)
    totals["unread"] = len(found.unread)
    totals["replaced"] = sum(row.replaced_by is not None for row in found.rows)
    return DirectoryJson(
        holdfast=__version__,
        location=str(found.location),
        passes_check=found.passes,
        directories=found.directories,
        totals={name: number for name, number in totals.items() if number},
        checkpoints=tuple(map(_row, found.rows)),
    )


def _row(row: Found[Summary]) -> CheckpointRowJson:
    each = row.summary
    if each is None:
        is_replaced = row.replaced_by is not None
        why = f"replaced by generation {row.replaced_by}" if is_replaced else row.unread
        return CheckpointRowJson(
            path=row.path,
            location=str(row.location),
            verdict=None,
            passes_check=is_replaced,
            summary=why or "",
            what_to_do=row.remedy,
            next_start=None,
            last_batch=None,
            newest_ms=None,
            sources=(),
            unread=row.unread,
            replaced_by=row.replaced_by,
        )
    return CheckpointRowJson(
        path=row.path,
        location=str(row.location),
        verdict=each.verdict.value,
        passes_check=each.verdict.passes,
        summary=each.said,
        what_to_do=each.what_to_do,
        next_start=next_start_json(each.next_start, each.spark),
        last_batch=each.last_batch,
        newest_ms=each.newest_ms,
        sources=each.sources,
        unread=None,
        replaced_by=None,
    )
