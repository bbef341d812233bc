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

import sys
from collections.abc import Callable, Collection

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
from holdfast.apply.fencing import fence_sinks, leases_of
from holdfast.apply.leases import Leases
from holdfast.apply.movement import refuse_movement
from holdfast.apply.permissions import find_needed
from holdfast.apply.standing import Done, Moved, NotDone
from holdfast.apply.stores import Stores
from holdfast.errors import HoldfastError
from holdfast.plan.describe import describe
from holdfast.plan.plan_file import Plan
from holdfast.plan.steps import CopyTree, Step
from holdfast.points import reached
from holdfast.record.repairs import RepairBegun, RepairEnded, mark_repair, unfinished_repairs
from holdfast.redact import redact
from holdfast.spark.errors import spark_errors

_START = "Start the stream as before."
_UNSAID = "The plan needs a permission that its file does not name."


def apply_plan(
    plan: Plan,
    stores: Stores,
    *,
    allowed: Collection[str],
    telling: Telling | None = None,
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
    applying = Applying(plan=plan, stores=stores, telling=telling or Telling())
    with stores.in_use(), leases_of(applying) as leases:  # A2
        reached("A2")
        _check(applying)  # A3
        refuse_movement(applying)
        _refuse_unsaid(plan, recheck(), allowed)
        reached("A3")
        _open(applying)  # A4
        _refuse_obstacles(applying)
        _fence(applying, leases)
        return _carry_out(applying, leases)


def _fence(applying: Applying, leases: Leases) -> None:
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
    reached("A4-fenced")


def _refuse_unsaid(plan: Plan, needed: Collection[str], allowed: Collection[str]) -> None:
    """Refuse a plan that needs a permission which its file does not name.

    Raises:
        NotAllowedError: It does.
    """
    unsaid = sorted(set(needed) - set(allowed))
    if unsaid:
        raise NotAllowedError(plan.id, tuple((word, _UNSAID) for word in unsaid))


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
            raise JournalError(at, why=f"The plan was {how}, and is closed.", how=_START)
        return at
    with stores.in_use(), leases_of(applying) as leases:
        refuse_unlike_steps(applying)
        _refuse_other_repairs(applying)
        refuse_movement(applying)
        has_begun = bool(applying.journal.begun())
        moved = find_moved_rest(applying) if has_begun else _find_moved(applying)
        moved = moved or applying.find_obstacles() or fence_sinks(applying, leases)
        if moved and has_begun:
            raise DriftedPlanError(at, moved)
        if moved:
            _end(applying, "abandoned")
            raise StalePlanError(plan.id, moved, is_closed=True)
        _open(applying)  # A4
        leases.confirm()
        return _carry_out(applying, leases)


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


def _check(applying: Applying) -> None:
    """Refuse a plan that is not for the world as it is (A3)."""
    refuse_other_streams(applying.plan, applying.stores)
    refuse_unlike_steps(applying)
    _refuse_other_repairs(applying)
    _refuse_used(applying)
    moved = _find_moved(applying)
    if moved:
        raise StalePlanError(applying.plan.id, moved)


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
    if isinstance(error, StalePlanError | StreamRunsError):  # the steps before are done
        return error.why
    if isinstance(error, HoldfastError):
        return f"{error.what} {error.why}"
    return redact(str(error)).partition("\n")[0][:500]


def _one(applying: Applying, step: Step, number: int, *, leases: Leases) -> None:
    journal = applying.journal
    reached("A5-before")
    leases.confirm()
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
