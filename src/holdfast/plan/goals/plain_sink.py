"""How far the sink of a plain stream has got, and up to where the history explains it.

The sink decides: it skips a batch whose number it has, whatever the range of that batch is now. So
a batch that it has and the history has not must be found out before Spark is started again.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from holdfast.evidence.outputs.delta import DeltaOutput, OutputCommit
from holdfast.evidence.outputs.files import FileOutput
from holdfast.formats.delta_log import NATIVE_FENCE
from holdfast.formats.event_log.events import BatchProgress
from holdfast.formats.event_log.queries import LoggedQuery
from holdfast.plan.goals.plain_history import KnownBatches, moment_ms
from holdfast.plan.plan_file import NoPlan
from holdfast.wording import batch_range, moment

Queries = Callable[[], tuple[LoggedQuery, ...]]
"""Every query of the event log: it is read only where a table has other writers."""


class Reached(msgspec.Struct, frozen=True, kw_only=True):
    """How far a sink has got."""

    number: int
    """The newest batch that it takes for written: it skips one up to this."""
    rows_to: int
    """The newest batch whose rows it has; less than the number after a RESTORE."""
    base: BatchProgress
    """The newest batch up to that whose range is known, and whose rows it has."""
    unexplained: tuple[OutputCommit, ...] = ()
    """Of a Delta table: the commits of the batches after the base, oldest first."""
    restored: OutputCommit | None = None
    """The RESTORE that took the batches above `rows_to` out."""

    @property
    def is_explained(self) -> bool:
        """Whether the range of every batch whose rows it has is known."""
        return self.base.batch_id == self.rows_to


def look_at_delta(output: DeltaOutput, known: KnownBatches, queries: Queries) -> Reached | NoPlan:
    """Return how far a Delta table has got with a query, or why that is not known."""
    shown = output.display_name
    held = output.last_batch(known.query_id)
    if held is None:
        return _without_batch(output, known)
    if held >= NATIVE_FENCE:
        return NoPlan(reason=f"{shown} is written by a guarded stream now, which replaced it.")
    newest = output.commit_of(known.query_id, held)
    if newest is None:
        return NoPlan(
            reason=f"{shown} has batch {held} of the query, in a commit that is older than the "
            f"newest {len(output.commits)}: what happened since is not known."
        )
    later = tuple(each for each in output.commits if each.version > newest.version)
    refused = _refuse_later(shown, later, known, queries=queries)
    if refused is not None:
        return refused
    restored = next((each for each in later if _takes_out(each, newest.version)), None)
    rows_to = held if restored is None else _rows_after(output, restored, known.query_id)
    if rows_to is None:
        return NoPlan(
            reason=f"Version {_number(restored)} took {shown} back to a version before the first "
            "commit of the query that its log still has."
        )
    return _find_base(output, known, held=held, rows_to=rows_to, restored=restored)


def _find_base(
    output: DeltaOutput,
    known: KnownBatches,
    *,
    held: int,
    rows_to: int,
    restored: OutputCommit | None,
) -> Reached | NoPlan:
    taken = [at for at in known.by_number if rows_to < at <= held]
    if restored is not None and taken:
        return NoPlan(
            reason=f"Version {restored.version} (RESTORE) of {output.display_name} took "
            f"{batch_range(rows_to + 1, held)} out, and the event log says that they were "
            "written: whether they are to be read again is not known."
        )
    older = (at for at in sorted(known.by_number, reverse=True) if at <= rows_to)
    base = next((at for at in older if _is_written_by(output, known, batch=at)), None)
    if base is None:
        return _unexplained(output.display_name, rows_to, known)
    found = [output.commit_of(known.query_id, at) for at in range(base + 1, rows_to + 1)]
    commits = tuple(each for each in found if each is not None)
    if len(commits) < len(found):
        return _unexplained(output.display_name, rows_to, known)
    return Reached(
        number=held,
        rows_to=rows_to,
        base=known.by_number[base],
        unexplained=commits,
        restored=restored,
    )


def _unexplained(shown: str, held: int, known: KnownBatches) -> NoPlan:
    newest = known.newest.batch_id
    return NoPlan(
        reason=f"{shown} holds batch {held}, the event log ends with batch {newest}, and too "
        "little in between is in either: where the rows end is not known."
    )


def _is_written_by(output: DeltaOutput, known: KnownBatches, *, batch: int) -> bool:
    """Return whether the run that the event log tells of has written a batch into the table.

    Delta skips a batch that an earlier run has written. If that run had another range, because its
    offset entry was deleted in between, the rows of the table are not of the range in the log.
    """
    commit = output.commit_of(known.query_id, batch)
    began = moment_ms(known.by_number[batch].at)
    if commit is None or commit.written_ms is None or began is None:
        return not _has_skipped(known.by_number[batch])
    return commit.written_ms >= began


def _has_skipped(batch: BatchProgress) -> bool:
    """Return whether a batch read nothing of a range that is not empty: a sink skipped it."""
    has_range = any(each.start != each.end for each in batch.sources)
    return has_range and batch.rows == 0


def _takes_out(commit: OutputCommit, version: int) -> bool:
    return commit.restores is not None and commit.restores < version


def _rows_after(output: DeltaOutput, restored: OutputCommit, query_id: str) -> int | None:
    """Return the newest batch whose rows a table has after a RESTORE; None when not known."""
    assert restored.restores is not None
    for commit in output.commits:
        if commit.version <= restored.restores and query_id in commit.transactions:
            return commit.transactions[query_id]
    return None


def _number(commit: OutputCommit | None) -> int:
    return -1 if commit is None else commit.version


def _refuse_later(
    shown: str, later: tuple[OutputCommit, ...], known: KnownBatches, *, queries: Queries
) -> NoPlan | None:
    """Refuse a table in which something else has happened since the query's newest batch."""
    emptied = next((each for each in later if each.replaces_all), None)
    if emptied is not None:
        return NoPlan(
            reason=f"Version {emptied.version} ({emptied.operation}) of {shown} replaced "
            "everything that the query had written: to continue after rows that are gone is no "
            "resume. Decide whether they are to be written again."
        )
    others = {each for commit in later if commit.is_streaming for each in commit.transactions}
    logged = {each.query_id: each for each in queries()} if others else {}
    own = tuple(each.description for each in known.newest.sources)
    for other in sorted(others):
        found = logged.get(other)
        if found is None or not found.sources:
            why = "what it reads is not in the event log"
        elif set(found.sources) & set(own):
            why = f"it reads {', '.join(sorted(set(found.sources) & set(own)))} too"
        else:
            continue
        return NoPlan(
            reason=f"Query {other} has written to {shown} since, and {why}: it may have written "
            "the rows that this query would write next."
        )
    return None


def _without_batch(output: DeltaOutput, known: KnownBatches) -> NoPlan:
    """Say why a table has no batch of a query that has written some."""
    newest = known.newest
    began, shown = moment_ms(newest.at), output.display_name
    if output.created_ms is not None and began is not None and output.created_ms > began:
        why = (
            f"it was created at {moment(output.created_ms)}, after batch {newest.batch_id}: "
            "another table took its place"
        )
    elif not output.knows_all:
        why = f"only its newest {len(output.commits)} commits tell of batches"
    else:
        why = "its log has no transaction of the query"
    return NoPlan(
        reason=f"{shown} has no batch of query {known.query_id}: {why}. The event log has batch "
        f"{newest.batch_id}."
    )


def look_at_files(output: FileOutput, known: KnownBatches) -> Reached | NoPlan:
    """Return how far an output directory of Spark's file sink has got, or why it is not known."""
    shown = output.display_name
    newest = known.newest.batch_id
    damaged = (
        *output.unreadable,
        *output.unread,
        *(f"batch {at} is missing" for at in output.holes),
    )
    if output.newest is None:
        return NoPlan(
            reason=f"{shown} has no log of batches (_spark_metadata). The event log has batch "
            f"{newest}."
        )
    if damaged:
        return NoPlan(reason=f"The log of {shown} cannot be relied on: {damaged[0]}.")
    held = output.newest
    older = (at for at in sorted(known.by_number, reverse=True) if at <= held)
    base = next((at for at in older if not _has_skipped(known.by_number[at])), None)
    if base is None:
        return _unexplained(shown, held, known)
    return Reached(number=held, rows_to=held, base=known.by_number[base])
