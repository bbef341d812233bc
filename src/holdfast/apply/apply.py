"""Applies a plan (A1 to A8). What is on disk after a kill at each number is in the docs.

A1 the permissions that the plan needs · A2 the lease of every stream that it changes · A3 it
touches only what it may; no other repair is unfinished; every precondition holds; every step is
still to be done · A4 write the plan into the journal, and a mark into the record of each stream:
from here on no start goes ahead; fence every sink that it changes, so that a driver which is only
paused writes nothing more; if a sink would refuse its step, close the plan again · for each step:
A5 journal that it begins · A6 carry it out · A7 journal that it is done · A8 end the
journal, then the marks, and release the leases.

A plan that was killed is continued by the same way: A3 then asks that this plan is the unfinished
one, and that nothing has changed what its remaining steps were made for. A step that is done is
left alone; one that is not is carried out.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator

from holdfast import clock
from holdfast.apply.applying import Applying, Telling
from holdfast.apply.checks import find_moved, find_moved_rest, refuse_other_streams
from holdfast.apply.confined import refuse_unlike_steps
from holdfast.apply.errors import (
    DriftedPlanError,
    InterruptedPlanError,
    JournalError,
    NotAllowedError,
    PlanBlockedError,
    StalePlanError,
    StreamRunsError,
    UnfinishedRepairError,
)
from holdfast.apply.leases import Leases
from holdfast.apply.movement import find_movement
from holdfast.apply.sink_steps import fence_sink
from holdfast.apply.standing import Done, Moved, NotDone
from holdfast.apply.stores import Stores
from holdfast.errors import HoldfastError
from holdfast.ledger.output import EmptyOutput, ExchangeOutput, KeepOutput, RestoreOutput
from holdfast.plan.describe import describe
from holdfast.plan.plan_file import Plan
from holdfast.plan.preconditions import ListingIs
from holdfast.plan.steps import (
    CopyTree,
    DiscardTree,
    Permission,
    PutFile,
    RemoveFile,
    RemoveTree,
    RestoreFile,
    SettleSink,
    Step,
)
from holdfast.points import reached
from holdfast.record.generations import newest_generation
from holdfast.record.repairs import RepairBegun, RepairEnded, mark_repair, unfinished_repairs
from holdfast.redact import redact
from holdfast.spark.errors import spark_errors


def apply_plan(
    plan: Plan, stores: Stores, *, allowed: Collection[str], telling: Telling | None = None
) -> str:
    """Apply a plan; return where its journal is.

    Raises:
        NotAllowedError, StalePlanError, StreamRunsError, UnfinishedRepairError, JournalError,
            PlanBlockedError, PlanFileError: Nothing was changed.
        InterruptedPlanError: It stopped part-way.
    """
    missing = tuple(dict.fromkeys(each for each in _needed(plan) if each[0] not in allowed))
    if missing:  # A1
        raise NotAllowedError(plan.id, missing)
    applying = Applying(plan=plan, stores=stores, telling=telling or Telling())
    with stores.in_use(), _leases(applying) as leases:  # A2
        reached("A2")
        _check(applying)  # A3
        _refuse_movement(applying)
        reached("A3")
        _open(applying)  # A4
        _refuse_obstacles(applying)
        _fence(applying, leases)
        return _carry_out(applying, leases)


def _needed(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield every permission that a plan needs: by its steps, whatever the file says, and by it."""
    for step in plan.steps:
        word = f"{Permission.DESTRUCTIVE}:{step.stream}"
        if _takes_away(step, plan) and word not in plan.words:
            yield word, f"{describe(step)}."
    for need in plan.needs:
        yield need.word, need.why


def _takes_away(step: Step, plan: Plan) -> bool:
    """Return whether a step takes away rows or files that nothing else has put there."""
    if not isinstance(step, SettleSink):
        return isinstance(step, DiscardTree)
    match step.output:
        case KeepOutput():
            return False
        case RestoreOutput():
            return plan.undoes is None
        case ExchangeOutput():
            return step.output.rows != 0
        case EmptyOutput():
            return True


def continue_plan(plan: Plan, stores: Stores, *, telling: Telling | None = None) -> str:
    """Go on with a plan that was begun and has not ended; return where its journal is.

    Raises:
        JournalError: It was not begun, so nobody has allowed it; or it has ended without effect.
        StalePlanError: No step was done, and the world has moved: the plan is closed.
        DriftedPlanError: Something has changed what the rest of the plan was made for.
        StreamRunsError: A stream is running; nothing was changed.
        InterruptedPlanError: It stopped part-way again.
    """
    applying = Applying(plan=plan, stores=stores, telling=telling or Telling())
    at, how = str(applying.journal.location), applying.journal.ended()
    if not applying.journal.is_open():
        raise JournalError(at, why="No plan was begun there: apply it first.")
    if how is not None:
        _end(applying, how)
        if how != "applied":
            raise JournalError(at, why=f"The plan was {how}.")
        return at
    with stores.in_use(), _leases(applying) as leases:
        refuse_unlike_steps(applying)
        _refuse_other_repairs(applying)
        _refuse_movement(applying)
        if applying.journal.begun():
            _refuse_drift(applying)
        elif moved := _find_moved(applying):
            _end(applying, "abandoned")
            raise StalePlanError(plan.id, moved)
        _open(applying)  # A4
        return _carry_out(applying, leases)


def _refuse_drift(applying: Applying) -> None:
    """Refuse to go on where something has changed what the rest of the plan was made for.

    Raises:
        DriftedPlanError: Nothing was changed; what was done before stays done.
    """
    moved = [*find_moved_rest(applying), *applying.find_obstacles()]
    if moved:
        raise DriftedPlanError(str(applying.journal.location), tuple(dict.fromkeys(moved)))


def _refuse_obstacles(applying: Applying) -> None:
    """Close a plan that a sink would stop half-way, before its first step.

    Looked at under the mark: no start and no other plan comes in between.

    Raises:
        PlanBlockedError: Nothing was changed.
    """
    found = applying.find_obstacles()
    if found:
        _end(applying, "abandoned")
        raise PlanBlockedError(applying.plan.id, found)


def _fence(applying: Applying, leases: Leases) -> None:
    """Let no driver commit to the sinks that the plan changes from here on.

    A driver that is paused, and resumes while the plan is applied, would commit one more batch to a
    sink that the plan has not come to yet.

    Raises:
        StalePlanError: One has, in the same moment; the plan is closed, and nothing was changed.
    """
    moved = []
    for step in applying.plan.steps:
        if isinstance(step, SettleSink) and isinstance(applying.look(step), NotDone):
            lease = leases.of(step.stream)
            ledger = applying.stores.ledger(step.sink, writes=True)
            moved += [each for each in (fence_sink(step, ledger, lease),) if each is not None]
    applying.stores.forget_ledgers()
    if moved:
        _end(applying, "abandoned")
        raise StalePlanError(applying.plan.id, tuple(dict.fromkeys(moved)))
    reached("A4-fenced")


def _leases(applying: Applying) -> Leases:
    """Return the leases to take; a sink that cannot be changed from here fails before that."""
    plan = applying.plan
    for step in plan.steps:
        if isinstance(step, SettleSink):
            applying.stores.ledger(step.sink, writes=True)
    epochs: dict[str, int | None] = dict.fromkeys(plan.streams)
    for step in plan.steps:
        if isinstance(step, SettleSink):
            row = applying.stores.ledger(step.sink, writes=False).read(step.stream)
            epoch = getattr(row, "epoch", 0)
            epochs[step.stream] = max(epochs[step.stream] or 0, epoch)
    return Leases(applying.records(), epochs, tell=applying.telling.waiting)


def _check(applying: Applying) -> None:
    """Refuse a plan that is not for the world as it is (A3)."""
    refuse_other_streams(applying.plan, applying.stores)
    refuse_unlike_steps(applying)
    _refuse_other_repairs(applying)
    _refuse_used(applying)
    moved = _find_moved(applying)
    if moved:
        raise StalePlanError(applying.plan.id, moved)


def _refuse_movement(applying: Applying) -> None:
    """Refuse a bare checkpoint that a query may be writing to: it has no lease.

    Raises:
        StreamRunsError: It moves.
    """
    guarded = {stream for stream, record in applying.records() if newest_generation(record) > 0}
    for stream in set(applying.plan.streams) - guarded:
        for place, own in _checkpoints(applying.plan, stream).items():
            moves = find_movement(applying.stores.at(place), leaves_out=own)
            if moves is not None:
                raise StreamRunsError(stream, moves)


def _checkpoints(plan: Plan, stream: str) -> dict[str, frozenset[str]]:
    """Return the checkpoints that a plan reads or changes, and what it changes there itself.

    Without copies: nobody but the plan has used those.
    """
    copies = {step.target for step in plan.steps if isinstance(step, CopyTree | RemoveTree)}
    files = [each for each in plan.steps if isinstance(each, PutFile | RemoveFile | RestoreFile)]
    listed = [each for each in plan.preconditions if isinstance(each, ListingIs)]
    places = {each.place for each in (*files, *listed) if each.stream == stream} - copies
    return {at: frozenset(each.path for each in files if each.place == at) for at in places}


def _refuse_used(applying: Applying) -> None:
    """Refuse a plan that has a journal: its steps count as done there, and would be left out."""
    plan, at, how = applying.plan, str(applying.journal.location), applying.journal.ended()
    if how is not None:
        raise JournalError(at, why=f"The plan was {how} already. Make it again.")
    if applying.journal.is_open():
        raise UnfinishedRepairError(plan.stream, goal=plan.goal, journal=at)


def _find_moved(applying: Applying) -> tuple[str, ...]:
    moved = list(find_moved(applying.plan, applying.stores))
    looks = (applying.look(step) for step in applying.plan.steps)
    moved += [each.why for each in looks if isinstance(each, Moved)]
    return tuple(dict.fromkeys(moved))


def _refuse_other_repairs(applying: Applying) -> None:
    # Also what the plan that is taken back was taking back: else neither of them could be ended.
    for stream, record in applying.records():
        for found in unfinished_repairs(record):
            if found.id not in applying.repairs():
                raise UnfinishedRepairError(stream, goal=found.goal, journal=found.journal)


def _open(applying: Applying) -> None:
    """Write the plan down, and mark every stream (A4)."""
    plan, journal = applying.plan, applying.journal
    journal.open()
    reached("A4")
    for _, record in applying.records():
        mark = RepairBegun(
            id=plan.id, goal=plan.goal, journal=str(journal.location), begun_at=_now()
        )
        mark_repair(record, mark)
        reached("A4-marked")


def _carry_out(applying: Applying, leases: Leases) -> str:
    plan, journal = applying.plan, applying.journal
    done = journal.done()
    for number, step in enumerate(plan.steps, start=1):
        what = describe(step)
        if number not in done:
            try:
                _one(applying, step, number, leases=leases)
            except _failures() as error:
                shown, at = f"{number} of {len(plan.steps)} ({what})", str(journal.location)
                raise InterruptedPlanError(journal=at, step=shown, why=_say(error)) from error
        applying.telling.step(number, what)
    _end(applying, "applied")  # A8
    return str(journal.location)


def _failures() -> tuple[type[Exception], ...]:
    """Return the errors by which a step can fail; PySpark need not be installed."""
    return (HoldfastError, *(spark_errors() if "pyspark" in sys.modules else ()))


def _say(error: Exception) -> str:
    """Return why a step failed; what Spark says begins with its answer, and can hold secrets."""
    if isinstance(error, StalePlanError):
        return " ".join(error.moved)
    if isinstance(error, HoldfastError):
        return f"{error.what} {error.why}"
    return redact(str(error)).partition("\n")[0][:500]


def _one(applying: Applying, step: Step, number: int, *, leases: Leases) -> None:
    journal = applying.journal
    reached("A5-before")
    journal.begin(number, describe(step))  # A5
    reached("A5")
    match applying.look(step):
        case Done() if not isinstance(step, CopyTree):
            pass
        case NotDone() | Done():  # a copy that was cut short after its last file is compared again
            applying.change(step, number, leases)  # A6
            _confirm(applying, step)
        case Moved(why=why):
            raise StalePlanError(applying.plan.id, (why,))
    reached("A6")
    journal.finish(number)  # A7
    reached("A7")


def _confirm(applying: Applying, step: Step) -> None:
    """See that a step has done what it says.

    Raises:
        StalePlanError: Something else has changed it in the same moment.
    """
    found = applying.look(step)
    if not isinstance(found, Done):
        why = found.why if isinstance(found, Moved) else f"{describe(step)}: it did not take."
        raise StalePlanError(applying.plan.id, (why,))


def _end(applying: Applying, how: str) -> None:
    """End the journal, then the marks (A8); of a plan that this one has undone too."""
    plan = applying.plan
    applying.journal.end(how)
    undone = plan.undoes if how == "applied" else None
    if undone is not None:
        applying.journal.end_undone(undone)
    reached("A8")
    for _, record in applying.records():
        for each in unfinished_repairs(record):
            if each.id in (plan.id, undone):
                mark_repair(record, RepairEnded(id=each.id, ended_at=_now()))
        reached("A8-marked")


def _now() -> str:
    return clock.now().isoformat(timespec="seconds")
