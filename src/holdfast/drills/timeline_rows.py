"""A history as a timeline has it: the life of every driver, with its batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.drills.history import Ended, Happened, Reached, Started
from holdfast.report.timeline import Bar, Life


def timeline_rows(events: Sequence[Happened]) -> list[Life]:
    """Return every driver's life, the first first."""
    ended = {each.run: each for each in events if isinstance(each, Ended)}
    return [
        _life(each, ended[each.run], [e for e in events if _is_of(e, each.run)])
        for each in events
        if isinstance(each, Started) and each.run in ended
    ]


def _is_of(event: Happened, run: int) -> bool:
    return isinstance(event, Reached) and event.run == run


def _life(started: Started, ended: Ended, reached: Sequence[Happened]) -> Life:
    points = [(each.at, each.point) for each in reached if isinstance(each, Reached)]
    epochs = [point.removeprefix("epoch=") for _, point in points if point.startswith("epoch=")]
    return Life(
        shown=f"run {started.run}",
        began=started.at,
        ended=ended.at,
        epoch=epochs[-1] if epochs else "",
        killed_at=ended.fired,
        how=ended.how,
        bars=list(_bars(points, died=ended.at)),
    )


def _bars(points: Sequence[tuple[float, str]], *, died: float) -> Iterator[Bar]:
    """Yield the batches: from where one begins to where it returns, or to the driver's death."""
    began, batch, kind = 0.0, "", ""
    for at, point in points:
        if point.startswith("batch="):
            began, batch, kind = at, point.removeprefix("batch="), "applied"
        elif point.startswith("skipped="):
            kind = "skipped"
        elif point == "S7" and kind:
            yield Bar(began=began, ended=at, shown=f"batch {batch}, {kind}", kind=kind)
            kind = ""
    if kind:
        yield Bar(began=began, ended=died, shown=f"batch {batch}, died in it", kind="cut")
