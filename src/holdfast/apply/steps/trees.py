"""Steps on whole directories: copied and compared, and copies removed again."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.apply.steps.files import is_unused
from holdfast.apply.steps.kind import (
    Done,
    Drifted,
    NotDone,
    StepKind,
    StepState,
    Undoing,
    Undone,
    Work,
)
from holdfast.apply.stores import Stores
from holdfast.plan.plan_file import NoPlan
from holdfast.plan.steps import CopyTree, DiscardTree, RemoveTree, TreeStep
from holdfast.plan.trees import copy_tree as plan_copy
from holdfast.plan.trees import find_foreign, list_files
from holdfast.record.layout import BATCHES, record_location
from holdfast.storage.copying import copy_tree
from holdfast.storage.in_order import walk_in_order
from holdfast.storage.location import is_inside, parse_location
from holdfast.storage.write import Writer


class TreeSteps(StepKind[TreeStep]):
    """Copy a directory, remove a copy, or delete for good."""

    def describe(self, step: TreeStep) -> str:
        """Say what a step does."""
        match step:
            case CopyTree():
                return f"Copy {step.files:,} files from {step.source} to {step.target}"
            case RemoveTree():
                return f"Remove the copy {step.target}"
            case DiscardTree():
                return f"Delete {step.files:,} files below {step.place} for good"

    def look(self, step: TreeStep, stores: Stores) -> StepState:
        """Say how a directory stands to a step."""
        if isinstance(step, DiscardTree):
            return _look_at_discarded(step, stores)
        copied = list_files(stores.at(step.target), leaves_out=step.leaves_out)
        is_whole = copied.fingerprint == step.fingerprint
        if isinstance(step, CopyTree):
            return Done() if is_whole else _unless_moved(step, stores)
        if not copied.count:
            return Done()
        # As it was copied, nothing has used it, whatever its source has become.
        return NotDone() if is_whole else _unless_moved(step, stores)

    def carry_out(self, step: TreeStep, work: Work) -> None:
        """Carry a step out; a copy that was cut short is finished and compared."""
        match step:
            case DiscardTree():
                _delete_all(work.stores.at(step.place), leaves_out=(), check=work.check)
            case RemoveTree():
                there = work.stores.at(step.target)
                _delete_all(there, leaves_out=step.leaves_out, check=work.check)
            case CopyTree():
                source, target = work.stores.at(step.source), work.stores.at(step.target)
                for progress in copy_tree(source, target, leaves_out=step.leaves_out):
                    work.check()
                    work.progress(progress.verified, step.files)

    def rehearse(self, step: TreeStep, work: Work) -> tuple[str, ...]:
        """Say what is copied: a rehearsal copies nothing."""
        del work
        if not isinstance(step, CopyTree):
            return ()
        return (f"{step.files:,} files are copied to {step.target}",)

    def undo(self, step: TreeStep, number: int, undoing: Undoing) -> Undone | NoPlan:
        """Return the removal of a copy, or the copy of what an undo removed."""
        match step:
            case CopyTree():
                return _remove_copy(step, number, undoing)
            case RemoveTree():
                return _copy_again(step, number, undoing)
            case DiscardTree():
                return Undone()


def _remove_copy(step: CopyTree, number: int, undoing: Undoing) -> Undone:
    root = parse_location(undoing.plan.root)
    batches = record_location(root, step.stream).join(BATCHES)
    if step.stream in undoing.opened and is_inside(parse_location(step.target), batches):
        return Undone()  # rows of a generation that another undo may go back to
    if not is_unused(undoing, step.stream, step.target):
        return Undone()
    removed = RemoveTree(
        stream=step.stream,
        source=step.source,
        target=step.target,
        fingerprint=step.fingerprint,
        leaves_out=step.leaves_out,
        why=undoing.why(number),
    )
    return Undone(steps=(removed,))


def _copy_again(step: RemoveTree, number: int, undoing: Undoing) -> Undone | NoPlan:
    """Return the copy of a directory that an undo removed."""
    found = list_files(undoing.stores.at(step.source), leaves_out=step.leaves_out)
    if found.fingerprint != step.fingerprint:
        return NoPlan(
            reason=f"Plan {undoing.plan.id} cannot be taken back: it removed {step.target}, a "
            f"copy of {step.source}, which has other files by now."
        )
    why = undoing.why(number)
    return Undone(steps=(plan_copy(step.stream, step.source, step.target, files=found, why=why),))


def _look_at_discarded(step: DiscardTree, stores: Stores) -> StepState:
    """Say how a directory stands to its deletion; one that was cut short has fewer files."""
    found = list_files(stores.at(step.place))
    if not found.count:
        return Done()
    if found.fingerprint == step.fingerprint or found.count < step.files:
        return NotDone()
    return Drifted(f"{step.place} has other files than it had.")


def _unless_moved(step: CopyTree | RemoveTree, stores: Stores) -> StepState:
    source, target = stores.at(step.source), stores.at(step.target)
    is_copy = isinstance(step, CopyTree)
    if is_copy and list_files(source, leaves_out=step.leaves_out).fingerprint != step.fingerprint:
        return Drifted(f"{step.source} has other files than it had.")
    foreign = find_foreign(target, source, leaves_out=step.leaves_out)
    if foreign is not None:
        return Drifted(f"{target.location.join(foreign)} is not part of the copy.")
    return NotDone()


def _delete_all(there: Writer, *, leaves_out: tuple[str, ...], check: Callable[[], None]) -> None:
    hidden = frozenset(leaves_out)
    for info in list(walk_in_order(there)):
        if info.path not in hidden:
            check()
            there.delete(info.path)
