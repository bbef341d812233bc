"""How much of a batch's time its checkpoint took, by what Spark itself reports of its batches.

Spark logs the progress of every batch at level INFO (`Streaming query made progress: {…}`), and
gives the same to listeners and as `query.recentProgress`. Any text that has such JSON will do. From
Spark 4.2 `ProgressReporter.scala`: `walCommit` writes `offsets/N`, `commitOffsets` writes
`commits/N`. The state is committed inside `addBatch`, by tasks: their times are summed there, and
say nothing about how many ran side by side. So the share is that of the two logs alone.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator

import msgspec

MOST_CHARACTERS = 16_000_000
"""Of a file, its newest: the progress of some 10,000 batches."""
_PROGRESS = re.compile(
    r'"id"\s*:\s*"(?P<id>[0-9a-f-]{36})".{0,600}?"batchId"\s*:\s*(?P<batch>[0-9]{1,18})\b'
    r'.{0,600}?"durationMs"\s*:\s*\{(?P<took>[^{}]{0,600})\}',
    re.DOTALL,
)
_TOOK = re.compile(r'"(?P<name>[A-Za-z]{1,40})"\s*:\s*(?P<ms>[0-9]{1,12})')


class ReportedTimes(msgspec.Struct, frozen=True, kw_only=True):
    """What Spark reported of some batches."""

    batches: int
    batch_ms: float
    """Median of `triggerExecution`."""
    logs_ms: float
    """Median of `walCommit` and `commitOffsets` together."""
    share: float
    """Median of what the logs are of each batch."""
    lowest: float
    highest: float


class NoTimes(msgspec.Struct, frozen=True):
    """A text without progress of this query."""

    why: str


def read_times(text: str, query_id: str | None) -> ReportedTimes | NoTimes:
    """Return what a text says of the batches of a query.

    Args:
        text: A driver's log, or the JSON of progress.
        query_id: Of the checkpoint; None if it has none, and then any query's batches count.
    """
    found = list(_parse(text[-MOST_CHARACTERS:]))
    own = [each for each in found if query_id is None or each[0] == query_id]
    # A trigger that finds no data reports its progress too, without a batch.
    took = [(logs, total) for _, logs, total in own if logs is not None and total > 0]
    if not took:
        if not found:
            return NoTimes("it has no progress of a query (log level INFO)")
        other = f"it has progress of other queries only, such as {found[0][0]}"
        return NoTimes("it has progress of triggers without a batch only" if own else other)
    shares = [logs / total for logs, total in took]
    return ReportedTimes(
        batches=len(took),
        batch_ms=statistics.median(total for _, total in took),
        logs_ms=statistics.median(logs for logs, _ in took),
        share=statistics.median(shares),
        lowest=min(shares),
        highest=max(shares),
    )


def _parse(text: str) -> Iterator[tuple[str, int | None, int]]:
    """Yield the query, the time of its logs (None without a batch) and the time of the batch."""
    for each in _PROGRESS.finditer(text):
        took = {found["name"]: int(found["ms"]) for found in _TOOK.finditer(each["took"])}
        logs = took.get("walCommit", 0) + took.get("commitOffsets", 0)
        is_batch = "addBatch" in took
        yield each["id"], logs if is_batch else None, took.get("triggerExecution", 0)
