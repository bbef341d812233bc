"""Signs of life of a plain stream: no lease says that it is stopped.

What its checkpoint, its sinks and its event log were last written is held against its own rhythm: a
query that plans a batch every five minutes is not stopped because it was quiet for one. A batch
that was planned and not committed may be running still, and writes nothing until it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median

import msgspec

from holdfast import clock
from holdfast.checkpoint.layout import OFFSETS
from holdfast.evidence.case import Case
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.outputs.files import FileOutput
from holdfast.formats.event_log.history import EventLogHistory
from holdfast.storage.location import parse_location
from holdfast.wording import duration

QUIET_S = 15.0
"""A checkpoint that has fewer batches than a rhythm needs must be quiet for so long."""
PENDING_QUIET_S = 600.0
"""A batch that is planned and not committed may be running for so long without a sign."""
STATE_QUIET_S = 150.0
"""Spark uploads the state of a query up to a minute after it has stopped, while its session lives
(`spark.sql.streaming.stateStore.maintenanceInterval`)."""
ROUNDS = 3
"""For so many of its usual pauses a checkpoint must be quiet."""
LONGEST_QUIET_S = 3_600.0
LOG_QUIET_S = PENDING_QUIET_S
"""An event log without an end may be that of a driver that runs one long task, or is paused."""
MOST_LOGS = 20
RHYTHM = 3
"""So many batches a query must have planned for its pauses to say something."""
LAST = 20
"""So many of its last batches say how often a query plans one."""
_LATEST = 5
"""Of so many pauses, the second longest counts too."""


def usual_pause(planned: Iterable[datetime]) -> float:
    """Return how many seconds usually pass between two batches; 0 when that is not known.

    Args:
        planned: When a query planned its batches.
    """
    last = sorted(planned)[-LAST:]
    pauses = [(later - one).total_seconds() for one, later in pairwise(last)]
    if not pauses:
        return 0.0
    # A query that has caught up runs slower than its median says. One long pause is a stop.
    latest = sorted(pauses[-_LATEST:])
    return max(median(pauses), latest[-2] if len(latest) > 1 else latest[0])


def quiet_time(planned: Iterable[datetime], *, is_pending: bool = False) -> float:
    """Return for how many seconds a query must have shown no sign to count as stopped.

    Args:
        planned: When it planned its batches.
        is_pending: Whether its newest batch is planned and not committed.
    """
    least = PENDING_QUIET_S if is_pending else QUIET_S
    return min(max(least, ROUNDS * usual_pause(planned)), LONGEST_QUIET_S)


class Signs(msgspec.Struct, frozen=True, kw_only=True):
    """What shows when a stream last did something."""

    looked_at: tuple[str, ...]
    last: datetime | None
    """The newest sign; None without any."""
    pause_s: float
    """What usually passes between two batches; 0 when that is not known."""
    is_open: bool = False
    """Whether an event log of the query does not say that its application ended."""

    def say(self) -> str:
        """Say that nothing shows the stream to be stopped, and what was looked at."""
        when = "It has left no sign of life"
        if self.last is not None:
            ago = max((clock.now() - self.last).total_seconds(), 0)
            when = f"Its last sign of life was {duration(timedelta(seconds=ago))} ago"
        pause = timedelta(seconds=self.pause_s)
        rhythm = f"; it ran every {duration(pause)}" if self.pause_s >= 1 else ""
        log = " Its event log does not say that it ended." if self.is_open else ""
        looked = ", ".join(self.looked_at)
        return f"No lease says that it is stopped. {when}{rhythm} ({looked}).{log}"


def find_signs(case: Case) -> Signs:
    """Return the signs of life that were looked at."""
    planned = [at for path, at in case.times.items() if path.startswith(f"{OFFSETS}/")]
    found = dict(_signs(case))
    times = [each for each in found.values() if each is not None]
    log = case.event_log
    return Signs(
        looked_at=tuple(found),
        last=max(times, default=None),
        pause_s=usual_pause(planned),
        is_open=bool(getattr(log, "without_end", ())),
    )


def open_logs(case: Case) -> tuple[str, ...]:
    """Return the event logs of the query that do not say that their application ended."""
    log = case.event_log
    if not isinstance(log, EventLogHistory):
        return ()
    home = parse_location(log.location)
    return tuple(
        str(home if home.name == each else home.join(each)) for each in log.without_end[-MOST_LOGS:]
    )


def _signs(case: Case) -> Iterator[tuple[str, datetime | None]]:
    yield "its checkpoint", max(case.times.values(), default=None)
    for output in case.outputs:
        if isinstance(output, DeltaOutput):
            newest = next(iter(output.commits), None)
            yield output.display_name, _at(None if newest is None else newest.written_ms)
        elif isinstance(output, FileOutput):
            yield output.display_name, _at(output.last_ms)
    newest_run = getattr(case.event_log, "newest", None)
    if newest_run is not None:
        yield "its event log", _parse(newest_run.last_at or newest_run.began_at)


def _at(ms: int | None) -> datetime | None:
    return None if not ms else datetime.fromtimestamp(ms / 1000, tz=UTC)


def _parse(text: str | None) -> datetime | None:
    try:
        found = None if text is None else datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)
