"""What rules about Delta tables share: which batches of a query a table holds, and since when."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import RunsAgain, StartsFresh
from holdfast.evidence.outputs.delta import DeltaOutput, OutputCommit
from holdfast.formats.delta_log import NATIVE_FENCE
from holdfast.ids import BatchId

_QUERY_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_GUARDED = "holdfast/"
CLOCK_STEP_MS = 1_000
"""A commit that seems older than its batch by less than this is not taken for an older one."""

_WRITING = ("WRITE", "STREAMING UPDATE", "COPY INTO")
"""Operations that write rows; a commit need not say how many."""


class Holding(msgspec.Struct, frozen=True, kw_only=True):
    """What a Delta table holds of the query of a case."""

    output: DeltaOutput
    query_id: str
    application: str | None
    """Under which the table counts the query's batches; None when none can be told."""
    batch: int | None
    """The newest batch that the table holds of it; None for none."""

    @property
    def is_native(self) -> bool:
        """Whether Spark's own Delta sink writes the table."""
        return self.application == self.query_id

    @property
    def newest_commit(self) -> OutputCommit | None:
        """The commit of the newest batch; None when it was not read."""
        if self.application is None or self.batch is None:
            return None
        return self.output.commit_of(self.application, self.batch)

    def files(self, *versions: int) -> tuple[str, ...]:
        """Name commits of the table."""
        return tuple(f"{self.output.display_name}, version {version}" for version in versions)


def delta_holdings(case: Case) -> Iterator[Holding]:
    """Yield what every Delta table of the case holds of its query; nothing without a query id."""
    metadata = case.checkpoint.metadata
    query_id = metadata.query_id if isinstance(metadata, QueryMetadata) else ""
    for output in case.outputs:
        if not isinstance(output, DeltaOutput):
            continue
        application = _application(case, output, query_id)
        batch = None if application is None else output.last_batch(application)
        if batch is not None and batch >= NATIVE_FENCE:
            continue  # Holdfast has taken the query over; its ledger says what is there
        yield Holding(output=output, query_id=query_id, application=application, batch=batch)


def _application(case: Case, output: DeltaOutput, query_id: str) -> str | None:
    """Return the id under which the query writes: its own, or the only one of a foreachBatch."""
    if output.last_batch(query_id) is not None:
        return query_id
    others = sorted(written_by_functions(output))
    fitting = [
        each
        for each in others
        if output.last_batch(each) in (case.newest_committed, case.newest_planned)
    ]
    if len(fitting) == 1:
        return fitting[0]
    # What the table has of the query itself can be older than everything that was read.
    return others[0] if len(others) == 1 and output.knows_all else None


def written_by_functions(output: DeltaOutput) -> set[str]:
    """Return the application ids that functions for foreachBatch set, not Spark's own sink."""
    found = set(output.remembered)
    for commit in output.commits:
        found |= set(commit.transactions)
    return {
        each for each in found if not _QUERY_ID.fullmatch(each) and not each.startswith(_GUARDED)
    }


def earlier_queries(holding: Holding) -> dict[str, OutputCommit]:
    """Return the newest commit of every other query that Spark's own sink wrote here."""
    found: dict[str, OutputCommit] = {}
    for commit in holding.output.commits:
        for application in commit.transactions if commit.is_streaming else ():
            if application != holding.query_id and _QUERY_ID.fullmatch(application):
                found.setdefault(application, commit)
    return found


def planned_ms(case: Case, batch: int) -> int | None:
    """Return when a batch was planned, by the driver's clock; None when no entry says it."""
    entry = case.checkpoint.offsets.get(BatchId(batch))
    metadata = entry.metadata if isinstance(entry, OffsetEntry) else None
    return None if metadata is None else metadata.batch_timestamp_ms


def pending_batch(case: Case) -> int | None:
    """Return the batch that the next start runs again; None when it plans a new one."""
    return case.next_start.batch_id if isinstance(case.next_start, RunsAgain) else None


def is_fresh(case: Case) -> bool:
    """Return whether the checkpoint has committed nothing: the next start runs batch 0."""
    is_first = pending_batch(case) == 0 and case.newest_committed < 0
    return is_first or isinstance(case.next_start, StartsFresh)


def is_forgotten(case: Case, output: DeltaOutput, commit: OutputCommit | None) -> bool:
    """Return whether Delta no longer counts the transaction of a commit."""
    retention = output.transaction_retention
    if retention is None or commit is None or commit.written_ms is None:
        return False
    return case.now - from_ms(commit.written_ms) > retention


def is_planned_later(case: Case, batch: int, commit: OutputCommit | None) -> bool:
    """Return whether the checkpoint planned a batch after the commit that the table has of it."""
    planned = planned_ms(case, batch)
    if planned is None or commit is None or commit.written_ms is None:
        return False
    return commit.written_ms + CLOCK_STEP_MS < planned


def from_ms(milliseconds: int) -> datetime:
    """Return a time of Java; the largest that Python has instead of a later one."""
    try:
        return datetime.fromtimestamp(0, tz=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def at(milliseconds: int | None) -> str:
    """Write a time for people: to the second, in UTC."""
    if milliseconds is None:
        return "an unknown time"
    return f"{from_ms(milliseconds):%Y-%m-%d %H:%M:%S} UTC"


def listed(batches: Sequence[int], *, most: int = 5) -> str:
    """Name batches, the first few of them."""
    shown = ", ".join(map(str, batches[:most]))
    more = len(batches) - most
    word = "batch" if len(batches) == 1 else "batches"
    return f"{word} {shown}" if more <= 0 else f"{word} {shown} and {more} more"


def written_since(output: DeltaOutput, since_ms: int) -> OutputCommit | None:
    """Return the newest commit that wrote rows since a time; None when none did."""
    for commit in output.commits:
        if (commit.written_ms or 0) >= since_ms and _wrote(commit):
            return commit
    return None


def unmarked_write(output: DeltaOutput, since_ms: int) -> OutputCommit | None:
    """Return the newest commit since a time that wrote rows and names no batch."""
    commit = written_since(output, since_ms)
    return commit if commit is not None and not commit.transactions else None


def lacks_trace_of_query(case: Case, holding: Holding) -> bool:
    """Return whether a table shows no trace of a query that has committed batches.

    A function for foreachBatch can leave commits that name no batch: any that wrote rows since the
    oldest batch that is known counts as a trace. Where not all of those were read, nothing is said.
    """
    output = holding.output
    if holding.application is not None or output.newest < 0 or case.newest_committed < 0:
        return False
    planned = (planned_ms(case, batch) for batch in sorted(case.checkpoint.offsets))
    since = next((each for each in planned if each is not None), None)
    if since is None or not reaches(output, since):
        return False
    return all(
        each.transactions or (each.written_ms or since) < since or not _wrote(each)
        for each in output.commits
    )


def reaches(output: DeltaOutput, since_ms: int) -> bool:
    """Return whether all commits since a time were read."""
    oldest = output.commits[-1].written_ms if output.commits else None
    return output.reads_all or (oldest is not None and oldest < since_ms)


def _wrote(commit: OutputCommit) -> bool:
    may_have = commit.rows is None and commit.operation in _WRITING
    return bool(commit.rows) or may_have or commit.operation == "MERGE"
