"""resume: put right what keeps a stream from going on with the same batch and the same range.

Spark starts from few files: `metadata`, the two newest offset entries, the newest commit entry and
the log of a file source. What of them is missing or damaged is removed where Spark plans it again,
or written again where a neighbour or a ledger row says what was in it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.grades import Effect, Severity
from holdfast.ids import BatchId
from holdfast.ledger.coverage import Coverage, read_coverage
from holdfast.ledger.row import LedgerRow
from holdfast.plan.draft import Heading, Part, new_plan_id, put_together
from holdfast.plan.entries import (
    commit_file,
    metadata_file,
    put_file,
    remove_file,
    remove_file_alone,
    sidecar_of,
)
from holdfast.plan.goal import GoalCase, goal
from holdfast.plan.goals.ledger_rows import newest_rows
from holdfast.plan.goals.leftovers import blocking_checksums, orphans, unless_known
from holdfast.plan.goals.nearest import go_on_instead
from holdfast.plan.goals.plain_given_back import is_lost
from holdfast.plan.goals.plain_resume import (
    QUERY_ID,
    find_planned_again,
    plan_given_back,
    refuse_skipping,
    skips_unless_known,
)
from holdfast.plan.goals.rebuild import Rebuilt, rebuild
from holdfast.plan.plan_file import Impact, Need, NoPlan, Plan
from holdfast.plan.steps import Permission, Step
from holdfast.plan.world import StreamNow

_BACK = "The files of the checkpoint and the ledger rows, as they were."


@goal("resume", "Go on with the same batch and the same range.", QUERY_ID)
def plan_resume(asked: GoalCase) -> Plan | NoPlan:
    """Put right what keeps a stream from going on where it stands.

    A deleted checkpoint of a stream without state is given back from the ledgers of its sinks; that
    of a plain stream from --event-log and --sink.
    """
    now = asked.now
    given_back = plan_given_back(now, asked.request.query_id) if is_lost(now) else None
    if given_back is not None:
        return given_back
    rows = newest_rows(now)
    if isinstance(rows, NoPlan):
        return rows
    held = max((row.last_batch for row in rows), default=-1)
    is_behind = held > now.case.newest_planned or _is_missing_entry(now, held)
    is_behind = is_behind or _is_changed(now, rows)
    found = rebuild(now, rows) if is_behind and held >= 0 else _repair_without_ledger(now, held)
    if isinstance(found, NoPlan):
        return found
    metadata = tuple(_metadata(now, rows))
    steps = (*metadata, *found.steps)
    if not steps:
        return _nothing_to_do(now)
    heading = Heading(
        goal="resume",
        summary=f"{now.stream} goes on {found.position}.",
        undo=_BACK,
        afterwards=("Start the stream as before.",),
    )
    impact = Impact(stream=now.stream, position=found.position, outputs=found.outputs)
    part = Part(steps=steps, impact=impact, needs=found.needs)
    return put_together(heading, (now,), (part,), plan_id=new_plan_id())


def _is_missing_entry(now: StreamNow, held: int) -> bool:
    """Return whether an entry is missing or damaged that only the ledger rows can give back."""
    checkpoint = now.case.checkpoint
    newest = now.case.newest_planned
    if newest < 0:
        return held >= 0
    needed = [BatchId(at) for at in (newest - 1, newest) if at >= 0]
    broken = [at for at in needed if not isinstance(checkpoint.offsets.get(at), OffsetEntry)]
    return bool(broken) and held >= min(broken)


def _is_changed(now: StreamNow, rows: tuple[LedgerRow, ...]) -> bool:
    """Return whether an entry, or a source's log, was changed since a sink got its batch."""
    for row in rows:
        covered = read_coverage(now.checkpoint, row.last_batch) if row.last_batch >= 0 else None
        if isinstance(covered, Coverage) and row.digest not in (None, covered.digest):
            return True
    return False


def _repair_without_ledger(now: StreamNow, held: int) -> Rebuilt | NoPlan:
    """Return what needs no ledger, unless a sink would skip what Spark plans anew after it."""
    again = find_planned_again(now)
    refused = None if again is None else refuse_skipping(now, again)
    found = refused or _repair(now, held)
    if again is None or isinstance(found, NoPlan):
        return found
    return replace(found, needs=found.needs + skips_unless_known(now, again))


def _repair(now: StreamNow, held: int) -> Rebuilt | NoPlan:
    """Return what to do about leftovers, or a damaged newest entry."""
    checkpoint = now.case.checkpoint
    planned, committed = now.case.newest_planned, now.case.newest_committed
    if planned < 0 and committed < 0:
        blocked = blocking_checksums(now)
        return Rebuilt(
            steps=(*orphans(now), *blocked.steps),
            position="with batch 0: no batch was ever planned",
            needs=blocked.needs,
        )
    if committed > planned:
        return _commit_ahead(now)
    newest = checkpoint.offsets.get(BatchId(planned))
    before = checkpoint.offsets.get(BatchId(planned - 1))
    if isinstance(newest, Unparsed) and committed < planned and held < planned:
        why = f"offsets/{planned}: {newest.reason}. Batch {planned} is in no sink: Spark plans it"
        return Rebuilt(
            steps=tuple(remove_file(now, f"{OFFSETS}/{planned}", why=f"{why} again.")),
            position=f"with batch {planned}, which Spark plans again",
            needs=unless_known(now, f"A sink without a ledger may hold rows of batch {planned}."),
        )
    if isinstance(newest, Unparsed):
        return _cannot_resume(
            now, f"offsets/{planned} cannot be used ({newest.reason}), and batch {planned} was run"
        )
    if isinstance(newest, OffsetEntry) and planned > 0 and not isinstance(before, OffsetEntry):
        return _previous(now, planned)
    return _small_things(now, committed)


def _small_things(now: StreamNow, committed: int) -> Rebuilt | NoPlan:
    checkpoint = now.case.checkpoint
    newest = checkpoint.commits.get(BatchId(committed)) if committed >= 0 else None
    if isinstance(newest, Unparsed) and committed + 1 == now.case.newest_planned:
        return _commit_before_pending(now, committed + 1)
    blocked = blocking_checksums(now)
    steps: list[Step] = [*blocked.steps]
    needs = blocked.needs
    position = f"with batch {committed + 1}"
    if isinstance(newest, Unparsed):
        why = f"{newest.reason.capitalize()}. Without the entry Spark runs the batch again."
        steps += remove_file(now, f"{COMMITS}/{committed}", why=why)
        position = f"with batch {committed} again, the same range"
        needs += unless_known(now, f"A sink without a ledger gets batch {committed} again.")
    return Rebuilt(steps=tuple(steps), position=position, needs=needs)


def _commit_before_pending(now: StreamNow, planned: int) -> Rebuilt | NoPlan:
    """Write the damaged commit before a pending batch again: that batch was committed.

    Spark plans a batch only once the one before is committed. It would not run that one again.
    """
    path = f"{COMMITS}/{planned - 1}"
    entries = now.case.checkpoint.commits.values()
    newest = now.case.checkpoint.offsets[BatchId(planned)]
    if any(isinstance(each, CommitEntry) and each.state_ids for each in entries):
        return _cannot_resume(now, f"{path} said which state files count")
    metadata = newest.metadata if isinstance(newest, OffsetEntry) else None
    watermark = 0 if metadata is None else metadata.batch_watermark_ms
    blocked = blocking_checksums(now)
    put = put_file(
        now,
        path,
        commit_file(next_watermark_ms=watermark),
        why=f"Batch {planned - 1} was committed: Spark has planned batch {planned} after it.",
    )
    stale = remove_file_alone(now, sidecar_of(path), why="It is of another content.")
    told = f"A sink without a ledger gets the pending batch {planned} again."
    return Rebuilt(
        steps=(*blocked.steps, *stale, put),
        position=f"with the pending batch {planned}, the same range",
        needs=blocked.needs + unless_known(now, told),
    )


def _previous(now: StreamNow, planned: int) -> Rebuilt | NoPlan:
    """Give back the entry before the newest one: only of a committed batch is it not read."""
    if now.case.newest_committed < planned:
        return _cannot_resume(
            now, f"offsets/{planned - 1} says where the pending batch {planned} begins"
        )
    raw = now.checkpoint.read(f"{OFFSETS}/{planned}")
    assert raw is not None
    path = f"{OFFSETS}/{planned - 1}"
    steps = (*remove_file_alone(now, sidecar_of(path), why="It is of another content."),)
    put = put_file(
        now,
        path,
        raw.decode(),
        why=f"Spark asks for it, and does not use what is in it: batch {planned} is committed.",
    )
    why = "Where its batch ended is not known any more: nothing may go back to it."
    commit = remove_file(now, f"{COMMITS}/{planned - 1}", why=why)
    return Rebuilt(steps=(*steps, put, *commit), position=f"with batch {planned + 1}")


def _commit_ahead(now: StreamNow) -> Rebuilt | NoPlan:
    """Take back commits that have no offset entry; Spark then runs the newest planned batch."""
    planned, committed = now.case.newest_planned, now.case.newest_committed
    if planned < 0:
        return _cannot_resume(now, "there is no offset entry")
    if now.is_stateful:
        return _cannot_resume(
            now, f"offsets/{committed} is gone, and the state is of batch {committed}"
        )
    why = f"Its offset entry is gone. Spark fails on every start while commits/{committed} is there"
    steps = [
        step
        for batch in range(committed, planned - 1, -1)
        for step in remove_file(now, f"{COMMITS}/{batch}", why=f"{why}.")
    ]
    told = f"Batches {planned} to {committed} are in the sink, and are written to it again."
    return Rebuilt(
        steps=tuple(steps),
        position=f"with batch {planned} again",
        needs=(Need(permission=Permission.REPEATS_DATA, stream=now.stream, why=told),),
    )


def _metadata(now: StreamNow, rows: tuple[LedgerRow, ...]) -> Iterator[Step]:
    """Yield the step that gives back the query's id."""
    found = now.case.checkpoint.metadata
    raw = now.checkpoint.read(METADATA)
    ids = {row.binding.query_id for row in rows}
    if now.guard is not None:
        ids.add(now.guard.generation.query_id)  # type: ignore[arg-type]
    is_fine = raw is not None and isinstance(found, QueryMetadata)
    has_begun = now.case.newest_planned >= 0 or any(row.last_batch >= 0 for row in rows)
    if is_fine or len(ids) != 1 or not has_begun:
        return
    yield from remove_file_alone(now, sidecar_of(METADATA), why="It is of another content.")
    why = "The query's id, as the record and the ledger rows have it."
    yield put_file(now, METADATA, metadata_file(ids.pop()), why=why)


def _cannot_resume(now: StreamNow, because: str) -> NoPlan:
    return NoPlan(
        reason=f"{now.stream} cannot go on: {because}, and nothing that was kept says what was in "
        "it. Restore the file from a backup, or begin a new generation.",
        nearest=go_on_instead(now),
    )


def _nothing_to_do(now: StreamNow) -> NoPlan:
    """Say that nothing is wrong; or what is, and that a resume does not repair it."""
    findings = now.judgement.findings
    for found in findings:
        if found.refuses_start:
            return NoPlan(
                reason=f"A resume cannot repair {found.code} {found.name}. {found.what} {found.how}"
            )
    fine = f"Nothing keeps {now.stream} from starting."
    for found in findings:
        is_grave = found.severity is Severity.DATA_AT_RISK or found.effect is Effect.ALTERS
        if is_grave or not found.is_judged:
            about = f"{found.code} {found.name}. {found.what} {found.how}"
            return NoPlan(reason=f"{fine} Before you start it, look at {about}")
    return NoPlan(reason=f"{fine} Start it as before.", is_fine=True)
