"""A history as a timeline shows it: every driver with its batches, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.drills.batch_runs import BatchRun, Points, batch_runs
from holdfast.drills.history import Ended, Happened, Reached, Started
from holdfast.drills.point_words import describe_kill
from holdfast.report.timeline import Bar, DriverRow


def timeline_rows(events: Sequence[Happened]) -> list[DriverRow]:
    """Return every driver, the first first."""
    ended = {each.run: each for each in events if isinstance(each, Ended)}
    started = [each for each in events if isinstance(each, Started) and each.run in ended]
    points = [_points(events, each.run) for each in started]
    return [
        _row(start, ended[start.run], reached, batches=batches)
        for start, reached, batches in zip(started, points, batch_runs(points), strict=True)
    ]


def _points(events: Sequence[Happened], run: int) -> Points:
    reached = (each for each in events if isinstance(each, Reached) and each.run == run)
    return [(each.at, each.point) for each in reached]


def _row(
    started: Started, ended: Ended, points: Points, *, batches: Sequence[BatchRun]
) -> DriverRow:
    epochs = [point.removeprefix("epoch=") for _, point in points if point.startswith("epoch=")]
    first = min((each.began for each in batches), default=ended.at)
    return DriverRow(
        number=started.run,
        epoch=epochs[-1] if epochs else "",
        start_seconds=first - started.at,
        seconds=ended.at - started.at,
        is_killed=ended.is_killed,
        ending=_ending(ended),
        bars=[_bar(each, died=ended.at) for each in batches],
    )


def _ending(ended: Ended) -> str:
    if ended.is_killed and ended.fired:
        return f"Killed: {describe_kill(ended.fired)}."
    if ended.is_well:
        return "Ran to its end."
    return f"Ended with {ended.how}. {ended.error}".strip()


def _bar(run: BatchRun, *, died: float) -> Bar:
    if run.ended is None:
        kind = "cut"
    elif run.is_skipped:
        kind = "skipped"
    else:
        kind = "repeated" if run.is_repeated else "completed"
    seconds = (died if run.ended is None else run.ended) - run.began
    return Bar(lane=run.stream, batch=run.batch, kind=kind, seconds=seconds)
