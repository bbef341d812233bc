"""The batches that drivers ran, from what each of them reached.

A guarded stream says itself when a batch begins, is skipped and returns. Of any stream the entries
of its checkpoint say something too: `offsets/N` is there when batch N is planned, `commits/N` when
its sink has returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import msgspec
from msgspec.structs import replace

from holdfast.drills.kill.entries import PREFIX

STARTED = "streams-started"
"""What a driver reaches when the streams of a user's function are started."""
Points = Sequence[tuple[float, str]]
"""What one driver reached, each with its time, in order."""
Entries = dict[tuple[str, int], float]
"""When entries of a log appeared, by stream and batch."""


class BatchRun(msgspec.Struct, frozen=True, kw_only=True):
    """One batch, as one driver ran it."""

    stream: str
    """Tells streams of one drill apart; nothing to show."""
    batch: int
    began: float
    ended: float | None = None
    """When its sink had returned; None when the driver ended before."""
    is_skipped: bool = False
    """Whether the sink held it already."""
    is_repeated: bool = False
    """Whether an earlier driver had begun it, and no sink says whether it holds it."""


def batch_runs(drivers: Sequence[Points]) -> Iterator[list[BatchRun]]:
    """Yield the batches of every driver, the first driver first."""
    planned = [_entries(points, "offsets") for points in drivers]
    streams = list(dict.fromkeys(stream for each in planned for stream, _ in each))
    pending: Entries = {}
    for points, offsets in zip(drivers, planned, strict=True):
        commits = _entries(points, "commits")
        told = [_named(each, {**pending, **offsets}, streams=streams) for each in _told(points)]
        seen = {(each.stream, each.batch) for each in told}
        begun = {**_begun_again(pending, commits, points=points), **offsets}
        entered = [
            BatchRun(
                stream=key[0],
                batch=key[1],
                began=began,
                ended=commits.get(key),
                is_repeated=key in pending,
            )
            for key, began in begun.items()
            if key not in seen
        ]
        yield sorted([*told, *entered], key=lambda each: each.began)
        pending = {key: at for key, at in {**pending, **offsets}.items() if key not in commits}


def _entries(points: Points, log: str) -> Entries:
    found: Entries = {}
    for at, point in points:
        if point.startswith(PREFIX):
            path = PurePosixPath(point.removeprefix(PREFIX))
            if path.parent.name == log:
                found[str(path.parents[1]), int(path.name)] = at
    return found


def _begun_again(pending: Entries, commits: Entries, *, points: Points) -> Entries:
    """Return the batches that earlier drivers left open and this one has begun again.

    It has if it came as far as its streams, or has committed them: a function of a user's may start
    a stream and wait for its end.
    """
    started = next((at for at, point in points if point == STARTED), None)
    committed = {key: at for key, at in commits.items() if key in pending}
    return committed if started is None else dict.fromkeys(pending, started)


def _told(points: Points) -> Iterator[BatchRun]:
    """Yield what guarded streams say of their batches.

    Every start says its epoch first, so the streams of a pipeline, which are started one after
    another, are numbered by it.
    """
    starts, open_batch = 0, None
    for at, point in points:
        fact, _, value = point.partition("=")
        if fact == "epoch":
            starts += 1
        elif fact == "batch":
            open_batch = BatchRun(stream=f"start {starts}", batch=int(value), began=at)
        elif fact == "skipped" and open_batch is not None:
            open_batch = replace(open_batch, is_skipped=True)
        elif point == "S7" and open_batch is not None:
            yield replace(open_batch, ended=at)
            open_batch = None
    if open_batch is not None:
        yield open_batch


def _named(told: BatchRun, planned: Entries, *, streams: Sequence[str]) -> BatchRun:
    """Return a batch under the name that its stream has in entries, as far as that is known."""
    if len(streams) == 1:
        return replace(told, stream=streams[0])
    same = {
        at: stream
        for (stream, batch), at in planned.items()
        if batch == told.batch and at <= told.began
    }
    return replace(told, stream=same[max(same)]) if same else told
