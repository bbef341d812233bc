"""The history of one query: its runs, its batches, and what is missing of them.

A history is bounded, however long a log is: the newest runs and batches are kept, the others are
counted. What the log cannot tell is part of the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum, unique

import msgspec

from holdfast.formats.event_log.events import BatchProgress
from holdfast.formats.event_log.plans import PlanParts
from holdfast.printable import printable

MOST_RUNS = 2_000
MOST_BATCHES = 1_000
MOST_BATCH_CHARACTERS = 16 << 20
"""Of the offsets of the batches that are kept: one with 10,000 partitions has 600,000."""
MOST_OTHERS = 200
MOST_RANGES = 1_000
_TRACEBACK = "Traceback (most recent call last)"
_CAUSED_BY = "\nCaused by: "
_LONGEST_LINE = 200


@unique
class RunEnding(StrEnum):
    """How a run ended, as far as the log tells."""

    ENDED = "ended"
    """Without an exception: it was stopped, or had nothing left to do."""
    FAILED = "failed"
    NOT_IN_LOG = "not-in-log"
    """Killed, still running, or cut off with the log."""


class QueryRun(msgspec.Struct, frozen=True, kw_only=True):
    """One start of the query."""

    query_id: str
    run_id: str
    name: str | None
    application: str
    """The log that it was read in, below the location."""
    application_id: str | None
    spark: str | None
    began_at: str | None
    """None if the log begins after it."""
    ending: RunEnding
    error: str | None = None
    """The exception with its stack trace, redacted; only of the newest runs the whole."""
    error_class: str | None = None
    first_batch: int | None = None
    last_batch: int | None = None
    """The last batch that was committed and is in the log."""
    begun_batch: int | None = None
    """The last batch that Spark began to run; later than the last one in the log after a kill."""
    batches: int = 0
    rows: int = 0
    idle_triggers: int = 0
    last_at: str | None = None
    """When its newest batch in the log began."""
    sink: str | None = None
    sources: tuple[str, ...] = ()
    operators: tuple[str, ...] | None = None
    """Stateful ones; None if no batch is in the log."""
    uses_rocksdb: bool = False
    checkpoint: str | None = None
    """Only the plans of stateful queries name it."""
    output_mode: str | None = None
    """Only the plans of queries that aggregate name it."""
    settings: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Of the application, and over them those of the session; redacted."""
    has_session_settings: bool = False
    """Whether those of the session are among them."""
    plan: PlanParts | None = None
    """What the plan of its first batch says of state; None if the log has none."""

    @property
    def error_line(self) -> str | None:
        """What the exception says, on one line; its innermost cause too, and Python's own words."""
        if self.error is None:
            return None
        message = self.error.partition("\n\tat ")[0].splitlines() or [""]
        raised = [each for each in message if each and not each[0].isspace()]
        line = raised[-1] if _TRACEBACK in self.error and raised else message[0]
        _, found, rest = self.error.rpartition(_CAUSED_BY)
        cause = f"; caused by {rest.partition(chr(10))[0][:_LONGEST_LINE]}" if found else ""
        return printable(f"{line[:_LONGEST_LINE]}{cause}")


class OtherQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Another query that the same logs tell of."""

    query_id: str
    name: str | None
    began_at: str
    """Its newest start."""
    application: str
    starts: int = 1


class UnreadFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was not read, or not to its end."""

    path: str
    why: str


class EventLogHistory(msgspec.Struct, frozen=True, kw_only=True):
    """What the event logs at one location tell of a query."""

    location: str
    query_id: str | None
    """None if the checkpoint does not say it and no plan names the checkpoint."""
    runs: tuple[QueryRun, ...] = ()
    """Oldest first."""
    older_runs: int = 0
    batches: tuple[BatchProgress, ...] = ()
    """The newest ones, oldest first; a batch that two runs committed is there twice."""
    older_batches: int = 0
    missing_batches: tuple[tuple[int, int], ...] = ()
    """Ranges of batches before the newest one that are in no log: first and last."""
    others: tuple[OtherQuery, ...] = ()
    applications: int = 0
    """Whose log was read."""
    without_end: tuple[str, ...] = ()
    """Applications with this query whose log does not say that they ended."""
    compacted: tuple[str, ...] = ()
    """Applications whose older batches the history server removed."""
    unread: tuple[UnreadFile, ...] = ()
    unread_lines: int = 0
    not_logs: int = 0
    """Files at the location that are no event log."""
    text_bytes: int = 0

    @property
    def newest(self) -> QueryRun | None:
        """The newest run; None if no log has one."""
        return self.runs[-1] if self.runs else None

    @property
    def newest_batch(self) -> BatchProgress | None:
        """The newest batch; None if no log has one."""
        return self.batches[-1] if self.batches else None

    @property
    def count(self) -> int:
        """How many starts the logs have."""
        return len(self.runs) + self.older_runs

    @property
    def batch_count(self) -> int:
        """How many batches the logs have."""
        return len(self.batches) + self.older_batches


class NotReadLog(msgspec.Struct, frozen=True, kw_only=True):
    """An event log that could not be looked at."""

    location: str
    why: str


EventLog = EventLogHistory | NotReadLog
