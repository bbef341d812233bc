"""Applies a plan (A1 to A8). What is on disk after a kill at each number is in the docs.

A1 the permissions that the plan needs · A2 the lease of every stream that it changes · A3 it
touches only what it may; no other repair is unfinished; every precondition holds; every step is
still to be done · A4 write the plan into the journal, and a mark into the record of each stream:
from here on no start goes ahead; see that the leases are still held; fence every sink that it
changes, so that a driver which is only paused writes nothing more; if a sink would refuse its step,
close the plan again · for each step: A5 journal that it begins · A6 carry it out · A7 journal that
it is done · A8 end the journal, then the marks, and release the leases.

A plan that was killed is continued by the same way: A3 then asks that this plan is the unfinished
one, and that nothing has changed what its remaining steps were made for. A step that is done is
left alone; one that is not is carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from holdfast import clock
from holdfast.apply.applying import PlanRun, ProgressCallbacks
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
    failures,
    say_failure,
)
from holdfast.apply.fencing import fence_sinks, leases_of
from holdfast.apply.leases import Leases
from holdfast.apply.movement import refuse_movement
from holdfast.apply.permissions import find_needed, refuse_unsaid
from holdfast.apply.steps.kind import Done, Drifted, NotDone
from holdfast.apply.steps.table import describe
from holdfast.apply.stores import Stores
from holdfast.events import emit, repairs
from holdfast.plan.plan_file import Plan
from holdfast.plan.steps import CopyTree, Step
from holdfast.record.repairs import RepairBegun, RepairEnded, mark_repair, unfinished_repairs

_START = "Start the stream as before."


def apply_plan(
    plan: Plan,
    stores: Stores,
    *,
    allowed: Collection[str],
    telling: ProgressCallbacks | None = None,
    recheck: Callable[[], Collection[str]] = lambda: (),
) -> str:
    """Apply a plan; return where its journal is.

    Args:
        plan: What to do.
        stores: What it names.
        allowed: The permissions that are given.
        telling: Who is told how it goes.
        recheck: Makes a plan that came from a file again, and returns the permissions that it
            needs, whatever its file says; called with the leases in hand.

    Raises:
        NotAllowedError, StalePlanError, StreamRunsError, UnfinishedRepairError, JournalError,
            PlanBlockedError, PlanFileError: Nothing was changed.
        InterruptedPlanError: It stopped part-way.
    """
    missing = tuple(dict.fromkeys(each for each in find_needed(plan) if each[0] not in allowed))
    if missing:  # A1
        raise NotAllowedError(plan.id, missing)
    telling = telling or ProgressCallbacks()
    applying = PlanRun(plan=plan, stores=stores, telling=telling, allowed=allowed)
    refuse_movement(applying)  # also before a Spark session is started, which takes its time
    with stores.in_use(), leases_of(applying) as leases:  # A2
        emit(repairs.PlanLeased(plan.id, plan.goal))
        _check(applying)  # A3
        refuse_movement(applying)
        refuse_unsaid(plan, recheck(), allowed)
        emit(repairs.PlanChecked(plan.id, plan.goal))
        _open(applying)  # A4
        _refuse_obstacles(applying)
        _fence(applying, leases)
        return _carry_out(applying, leases)


def _fence(applying: PlanRun, leases: Leases) -> None:
    """Fence the sinks, and close the plan if a driver was started or has committed meanwhile.

    A start takes the lease, then looks for a mark; a plan writes its mark, then looks at the lease.

    Raises:
        StalePlanError, StreamRunsError: One has; nothing was changed.
    """
    try:
        leases.confirm()
        moved = fence_sinks(applying, leases)
    except StreamRunsError:
        _end(applying, "abandoned")
        raise
    if moved:
        _end(applying, "abandoned")
        raise StalePlanError(applying.plan.id, moved, is_closed=True)
    emit(repairs.PlanFenced(applying.plan.id, applying.plan.goal))


def continue_plan(
    plan: Plan,
    stores: Stores,
    *,
    allowed: Collection[str] = (),
    telling: ProgressCallbacks | None = None,
) -> str:
    """Go on with a plan that was begun and has not ended; return where its journal is.

    Args:
        plan: What was begun.
        stores: What it names.
        allowed: Permissions for what has come since; those of the plan were given.
        telling: Who is told how it goes.

    Raises:
        JournalError: It was not begun, so nobody has allowed it; or it has ended without effect.
        StalePlanError: No step was done, and the world has moved: the plan is closed.
        DriftedPlanError: Something has changed what the rest of the plan was made for.
        StreamRunsError: A stream is running; nothing was changed.
        InterruptedPlanError: It stopped part-way again.
    """
    telling = telling or ProgressCallbacks()
    applying = PlanRun(plan=plan, stores=stores, telling=telling, allowed=allowed)
    at, how = str(applying.journal.location), applying.journal.ended()
    if not applying.journal.is_open():
        raise JournalError(at, why="No plan was begun there: apply it first.")
    if how is not None:
        _end(applying, how)
        if how != "applied":
            raise JournalError(at, why=f"The plan was {how}, and is closed.", how=_START)
        return at
    with stores.in_use(), leases_of(applying) as leases:
        refuse_unlike_steps(applying)
        _refuse_other_repairs(applying)
        refuse_movement(applying)
        _refuse_moved(applying, leases)
        _open(applying)  # A4
        leases.confirm()
        return _carry_out(applying, leases)


def _refuse_moved(applying: PlanRun, leases: Leases) -> None:
    """Refuse to go on with a plan whose rest is not for the world as it is; fence its sinks.

    Raises:
        DriftedPlanError, StalePlanError: It is not.
    """
    has_begun = bool(applying.journal.begun())
    moved = find_moved_rest(applying) if has_begun else _find_moved(applying)
    moved = moved or applying.find_obstacles() or fence_sinks(applying, leases)
    if moved and has_begun:
        raise DriftedPlanError(str(applying.journal.location), moved)
    if moved:
        _end(applying, "abandoned")
        raise StalePlanError(applying.plan.id, moved, is_closed=True)


def _refuse_obstacles(applying: PlanRun) -> None:
    """Close a plan that a sink would stop half-way, before its first step.

    Looked at under the mark: no start and no other plan comes in between.

    Raises:
        PlanBlockedError: Nothing was changed.
    """
    found = applying.find_obstacles()
    if found:
        _end(applying, "abandoned")
        raise PlanBlockedError(applying.plan.id, found)


def _check(applying: PlanRun) -> None:
    """Refuse a plan that is not for the world as it is (A3)."""
    refuse_other_streams(applying.plan, applying.stores)
    refuse_unlike_steps(applying)
    _refuse_other_repairs(applying)
    _refuse_used(applying)
    moved = _find_moved(applying)
    if moved:
        raise StalePlanError(applying.plan.id, moved)


def _refuse_used(applying: PlanRun) -> None:
    """Refuse a plan that has a journal: its steps count as done there, and would be left out."""
    plan, at, how = applying.plan, str(applying.journal.location), applying.journal.ended()
    if how is not None:
        raise JournalError(at, why=f"The plan was {how} already. Make it again.")
    if applying.journal.is_open():
        raise UnfinishedRepairError(plan.stream, goal=plan.goal, journal=at)


def _find_moved(applying: PlanRun) -> tuple[str, ...]:
    moved = list(find_moved(applying.plan, applying.stores))
    looks = (applying.look(step) for step in applying.plan.steps)
    moved += [each.why for each in looks if isinstance(each, Drifted)]
    return tuple(dict.fromkeys(moved))


def _refuse_other_repairs(applying: PlanRun) -> None:
    # Also what the plan that is taken back was taking back: else neither of them could be ended.
    for stream, record in applying.records():
        for found in unfinished_repairs(record):
            if found.id not in applying.repairs():
                raise UnfinishedRepairError(stream, goal=found.goal, journal=found.journal)


def _open(applying: PlanRun) -> None:
    """Write the plan down, and mark every stream (A4)."""
    plan, journal = applying.plan, applying.journal
    journal.open()
    emit(repairs.JournalOpened(plan.id, plan.goal))
    for stream, record in applying.records():
        mark = RepairBegun(
            id=plan.id, goal=plan.goal, journal=str(journal.location), begun_at=_now()
        )
        mark_repair(record, mark)
        emit(repairs.StreamMarked(plan.id, plan.goal, stream=stream))


def _carry_out(applying: PlanRun, leases: Leases) -> str:
    plan, journal = applying.plan, applying.journal
    done = journal.done()
    for number, step in enumerate(plan.steps, start=1):
        what = describe(step)
        if number not in done:
            try:
                _one(applying, step, number, leases=leases)
            except failures() as error:
                shown, at = f"{number} of {len(plan.steps)} ({what})", str(journal.location)
                raise InterruptedPlanError(
                    journal=at, step=shown, why=say_failure(error)
                ) from error
        applying.telling.step(number, what)
    _end(applying, "applied")  # A8
    return str(journal.location)


def _one(applying: PlanRun, step: Step, number: int, *, leases: Leases) -> None:
    journal = applying.journal
    at = (applying.plan.id, applying.plan.goal, number)
    emit(repairs.StepNext(*at))
    leases.confirm()
    journal.begin(number, describe(step))  # A5
    emit(repairs.StepAnnounced(*at))
    match applying.look(step):
        case Done() if not isinstance(step, CopyTree):
            pass
        case NotDone() | Done():  # a copy that was cut short after its last file is compared again
            applying.change(step, number, leases)  # A6
            _confirm(applying, step)
        case Drifted(why=why):
            raise StalePlanError(applying.plan.id, (why,))
    emit(repairs.StepApplied(*at))
    journal.finish(number)  # A7
    emit(repairs.StepRecorded(*at))


def _confirm(applying: PlanRun, step: Step) -> None:
    """See that a step has done what it says.

    Raises:
        StalePlanError: Something else has changed it in the same moment.
    """
    found = applying.look(step)
    if not isinstance(found, Done):
        why = found.why if isinstance(found, Drifted) else f"{describe(step)}: it did not take."
        raise StalePlanError(applying.plan.id, (why,))


def _end(applying: PlanRun, how: str) -> None:
    """End the journal, then the marks (A8); of a plan that this one has undone too."""
    plan = applying.plan
    applying.journal.end(how)
    undone = plan.undoes if how == "applied" else None
    if undone is not None:
        applying.journal.end_undone(undone)
    emit(repairs.PlanClosed(plan.id, plan.goal, ended=how))
    for stream, record in applying.records():
        for each in unfinished_repairs(record):
            if each.id in (plan.id, undone):
                mark_repair(record, RepairEnded(id=each.id, ended_at=_now()))
        emit(repairs.MarkRemoved(plan.id, plan.goal, stream=stream))


def _now() -> str:
    return clock.now().isoformat(timespec="seconds")
