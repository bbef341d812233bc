"""Whether a plan that is taken back leaves things as they were before it.

A plan can be taken back only while nothing has used what it left. Where a query has written to the
checkpoint since, or the checkpoint to go back to was deleted, there is nothing to go back to.
"""

from __future__ import annotations

from shlex import quote

import msgspec

from holdfast.apply.applying import PlanRun, ProgressCallbacks
from holdfast.apply.checks import find_moved
from holdfast.apply.journal import read_journalled_plan
from holdfast.apply.steps.kind import NotDone
from holdfast.apply.steps.table import kind_of
from holdfast.apply.stores import RehearsalStores, Stores
from holdfast.errors import HoldfastError
from holdfast.plan.make import is_copy
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.preconditions import FileIs, GenerationIs, ListingIs, Precondition
from holdfast.plan.steps import (
    DiscardTree,
    PutFile,
    RemoveFile,
    RestoreFile,
    SettleSink,
    Step,
    is_generation,
)
from holdfast.plan.trees import list_files
from holdfast.record.generations import Generation, newest_generation


def find_deleted(plan: Plan, stores: Stores) -> bool:
    """Return whether a plan has deleted a file for good, also when it was cut short within."""
    return any(
        list_files(stores.at(step.place)).count < step.files
        for step in plan.steps
        if isinstance(step, DiscardTree)
    )


def refuse_half(applying: PlanRun) -> NoPlan | None:
    """Refuse to take back the undo of a plan that was cut short: that would leave it half applied.

    An undo that was cut short itself, and has changed files only, can be taken back: what it took
    back is then continued.
    """
    plan, journal = applying.plan, applying.journal
    if plan.undoes is None:
        return None
    undone = read_journalled_plan(journal.record, plan.undoes)
    if PlanRun(
        plan=undone, stores=applying.stores, telling=ProgressCallbacks()
    ).journal.was_applied():
        return None
    if journal.ended() is not None:
        return NoPlan(
            reason=f"Plan {plan.id} has taken back a plan that was not carried out to its end, and "
            "to go back to that would leave it half applied. Make the first plan again."
        )
    begun = (plan.steps[number - 1] for number in journal.begun())
    if not any(isinstance(each, SettleSink) or is_generation(each) for each in begun):
        return None
    return NoPlan(
        reason=f"Plan {plan.id} was begun and has not ended: it takes back a plan that was not "
        "carried out to its end either. Continue it.",
        nearest=f"holdfast apply {quote(str(journal.location))} --continue",
    )


def refuse_overtaken(applying: PlanRun) -> NoPlan | None:
    """Refuse to take back a plan after which another one has opened a generation of its stream."""
    plan = applying.plan
    if is_copy(plan):  # its undo removes the copy, whatever the stream has become
        return None
    left = {
        each.stream: each.number for each in plan.preconditions if isinstance(each, GenerationIs)
    }
    for step in plan.steps:
        if isinstance(step, PutFile) and is_generation(step) and step.stream in plan.streams:
            opened = msgspec.json.decode(step.content, type=Generation)
            left[step.stream] = max(left.get(step.stream, 0), opened.number)
    for stream, number in left.items():
        found = newest_generation(applying.record(stream))
        if found > number:
            return NoPlan(
                reason=f"Plan {plan.id} cannot be taken back: another plan has opened generation "
                f"{found} of {stream} since. Take that one back first."
            )
    return None


def find_irreversible(
    plan: Plan, undo: Plan, stores: Stores, *, has_ended: bool
) -> tuple[str, ...]:
    """Return what would not be as it was before a plan, one sentence each.

    Args:
        plan: What is taken back.
        undo: What takes it back.
        stores: What both name.
        has_ended: Whether the plan has. Until then its stream does not start: a checkpoint that
            somebody has deleted meanwhile is for the next start to say.
    """
    overlay = stores.rehearsal()
    with overlay.in_use():
        return _find_unlike(plan, undo, overlay, has_ended=has_ended)


def _find_unlike(
    plan: Plan, undo: Plan, overlay: RehearsalStores, *, has_ended: bool
) -> tuple[str, ...]:
    applying = PlanRun(plan=undo, stores=overlay, telling=ProgressCallbacks())
    try:
        for number, step in enumerate(undo.steps, start=1):
            if isinstance(step, PutFile | RemoveFile | RestoreFile) and isinstance(
                applying.look(step), NotDone
            ):
                kind_of(step).rehearse(step, applying.work(number))
    except HoldfastError as error:
        return (f"{error.what} {error.why}",)
    held = tuple(
        each
        for each in _held(plan, undo)
        if has_ended or not isinstance(each, FileIs) or overlay.at(each.place).stat(each.path)
    )
    return find_moved(msgspec.structs.replace(plan, preconditions=held), overlay)


def _held(plan: Plan, undo: Plan) -> tuple[Precondition, ...]:
    """Return the preconditions of a plan that must hold again once it was taken back."""
    files = [step for step in undo.steps if isinstance(step, PutFile | RemoveFile | RestoreFile)]
    changed = {step.place for step in files}
    # A driver that was fenced can have planned one more batch in a checkpoint that is gone back to.
    again = {_checkpoint(step) for step in files}
    return tuple(
        each
        for each in plan.preconditions
        if (isinstance(each, FileIs | ListingIs) and each.place in changed)
        or (isinstance(each, FileIs) and each.place in again)
    )


def _checkpoint(step: Step) -> str | None:
    """Return the checkpoint of the generation that a step opens."""
    if not isinstance(step, PutFile) or not is_generation(step):
        return None
    return msgspec.json.decode(step.content, type=Generation).checkpoint
