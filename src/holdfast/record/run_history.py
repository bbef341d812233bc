"""Every run of a stream: when each began, how it ended and which Spark it was, newest first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum, unique
from functools import partial

import msgspec

from holdfast.errors import HoldfastError
from holdfast.record.documents import read_document
from holdfast.record.layout import run_path
from holdfast.record.runs import FAILED, FINISHED, LOST, RUNNING, STOPPED, Run, run_names
from holdfast.storage.read import Reader

MOST_RUNS = 500
"""That are read: each is one request to the store."""
_AT_ONCE = 16


@unique
class RunEnd(StrEnum):
    """How a run ended, as far as the record tells."""

    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    LOST = "lost"
    NOT_RECORDED = "not-recorded"
    """It was killed, or its driver could not write the record any more."""
    RUNNING = "running"
    UNKNOWN = "unknown"
    """The record has a word that this version does not know, or the file is damaged."""


_ENDS = {
    FINISHED: RunEnd.FINISHED,
    STOPPED: RunEnd.STOPPED,
    FAILED: RunEnd.FAILED,
    LOST: RunEnd.LOST,
    RUNNING: RunEnd.NOT_RECORDED,
}


class UnreadRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose file cannot be read."""

    epoch: int
    run_id: str
    path: str
    why: str


class RunHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What the record says of its runs."""

    runs: tuple[Run | UnreadRun, ...] = ()
    """Newest first."""
    older: int = 0
    """Runs before those, which were not read."""
    unlisted: str | None = None
    """Why the runs could not be listed; None when they were."""

    @property
    def count(self) -> int:
        """How many runs the record has."""
        return len(self.runs) + self.older


def read_history(record: Reader, *, most: int = MOST_RUNS) -> RunHistory:
    """Read the newest runs of a stream; what cannot be read is a value that says so.

    Args:
        record: Of the stream's record.
        most: So many are read; the others are counted.
    """
    try:
        names = run_names(record)
    except HoldfastError as error:
        return RunHistory(unlisted=error.why.rstrip("."))
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        found = list(pool.map(partial(_read, record), names[:most]))
    runs = tuple(each for each in found if each is not None)
    return RunHistory(runs=runs, older=max(len(names) - most, 0))


def end_of(run: Run | UnreadRun, *, is_running: bool) -> RunEnd:
    """Return how a run ended.

    Args:
        run: Any.
        is_running: Whether this is the newest run, and a driver holds its lease.
    """
    if isinstance(run, UnreadRun):
        return RunEnd.UNKNOWN
    found = _ENDS.get(run.ended, RunEnd.UNKNOWN)
    return RunEnd.RUNNING if is_running and found is RunEnd.NOT_RECORDED else found


def _read(record: Reader, name: tuple[int, str]) -> Run | UnreadRun | None:
    """Read one run; None when it was removed meanwhile."""
    path = run_path(*name)
    try:
        return read_document(record, path, Run)
    except HoldfastError as error:
        why = error.why.rstrip(".")
        return UnreadRun(epoch=name[0], run_id=name[1], path=path, why=why)
