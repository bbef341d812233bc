"""Points in words: what was happening when a driver was killed, and what it did last."""

from __future__ import annotations

import re
from pathlib import Path

from holdfast.drills.batch_runs import STARTED, Points, batch_runs
from holdfast.drills.kill.points import Delete, Named, Rename, Send, parse_point
from holdfast.drills.log import last_line
from holdfast.errors import ConfigError

_NAMED = {
    "G2": "the driver held the lease and had started nothing",
    "G5": "the sinks were fenced and the query was not started",
    "S1": "the batch had begun",
    "S3": "the sink had read its ledger",
    "copying": "some of the rows were sent",
    "S4": "the rows were sent, the ledger was not written",
    "S5": "rows and ledger were sent, not committed",
    "S6": "the sink had committed the batch, Spark did not know it yet",
    "S7": "the sink had returned",
    "sink-written": "one sink held the batch, the next one did not",
    "journalled": "the batch was materialised beside the checkpoint, no sink held it",
    "run-ended": "all data was written, the run was not recorded as ended",
    "G8": "all data was written, the lease was not released",
}
_PATHS: tuple[tuple[str, str, str], ...] = (
    (
        r"offsets/(\d+)",
        "batch {} was not planned yet: no offsets/{}",
        "batch {} was planned in offsets/{}, the sink was not called",
    ),
    (
        r"commits/(\d+)",
        "the sink had written batch {}, Spark had not recorded it: no commits/{}",
        "batch {} was complete: commits/{} was there",
    ),
    (
        r"sources/\d+/(\d+)(?:\.compact)?",
        "entry {} of the source log was not written yet",
        "entry {} of the source log was written, the batch was not planned",
    ),
    (
        r"0*(\d+)\.json",
        "the data files were written, commit {} of the Delta table was not",
        "commit {} of the Delta table was written, Spark did not know it yet",
    ),
    (
        r"()\.zip",
        "no state store of the batch was written yet",
        "one state store of the batch was written, the others were not",
    ),
)
"""Endings of paths, with what has happened before and after one of them appears."""


def describe_kill(point: str) -> str:
    """Return what was happening at a point, as a history names it."""
    try:
        parsed = parse_point(point)
    except ConfigError:  # of a striker outside the driver
        return f"at {point}"
    if isinstance(parsed, Named):
        return _NAMED.get(parsed.name, f"at the point {parsed.name}")
    if isinstance(parsed, Delete):
        return f"{parsed.when} {parsed.target} was deleted"
    if isinstance(parsed, Send):
        return f"{parsed.when} {parsed.what} was sent"
    assert isinstance(parsed, Rename)
    return _describe_rename(parsed)


def _describe_rename(point: Rename) -> str:
    for ending, before, after in _PATHS:
        if found := re.fullmatch(ending, point.target):
            words = before if point.when == "before" else after
            return words.format(*(found[1],) * words.count("{}"))
    return f"{point.when} {point.target} appeared"


def describe_last(points: Points, *, log: Path, at: float) -> str:
    """Return what a driver did last, seen from a time: its last batch, or how far it had come."""
    (batches,) = batch_runs([points])
    if batches:
        last = batches[-1]
        if last.ended is None:
            return f"Batch {last.batch} had been running for {at - last.began:.0f} s."
        return f"Batch {last.batch} had ended {at - last.ended:.0f} s before."
    if any(point == STARTED for _, point in points):
        return "The stream was started, and no batch had begun."
    said = last_line(log)
    return "The stream was not started yet." + (f" Its log ends: {said}" if said else "")
