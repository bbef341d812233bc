"""Steps on whole directories: copied and compared, and copies removed again."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.apply.standing import Done, Moved, NotDone, Standing
from holdfast.apply.stores import Stores
from holdfast.plan.steps import CopyTree, DiscardTree, RemoveTree
from holdfast.plan.trees import find_foreign, list_files
from holdfast.storage.copying import copy_tree
from holdfast.storage.in_order import walk_in_order
from holdfast.storage.write import Writer

TreeStep = CopyTree | RemoveTree | DiscardTree
Progress = Callable[[int, int], None]


def look_at_tree(step: TreeStep, stores: Stores) -> Standing:
    """Say how a directory stands to a step."""
    match step:
        case DiscardTree():
            return _look_at_discarded(step, stores)
        case RemoveTree():
            copied = list_files(stores.at(step.target), leaves_out=step.leaves_out)
            if not copied.count:
                return Done()
            # As it was copied, nothing has used it, whatever its source has become.
            is_whole = copied.fingerprint == step.fingerprint
            return NotDone() if is_whole else _unless_moved(step, stores)
        case CopyTree():
            copied = list_files(stores.at(step.target), leaves_out=step.leaves_out)
            is_there = copied.fingerprint == step.fingerprint
            return Done() if is_there else _unless_moved(step, stores)


def _look_at_discarded(step: DiscardTree, stores: Stores) -> Standing:
    """Say how a directory stands to its deletion; one that was cut short has fewer files."""
    found = list_files(stores.at(step.place))
    if not found.count:
        return Done()
    if found.fingerprint == step.fingerprint or found.count < step.files:
        return NotDone()
    return Moved(f"{step.place} has other files than it had.")


def _unless_moved(step: CopyTree | RemoveTree, stores: Stores) -> Standing:
    source, target = stores.at(step.source), stores.at(step.target)
    is_copy = isinstance(step, CopyTree)
    if is_copy and list_files(source, leaves_out=step.leaves_out).fingerprint != step.fingerprint:
        return Moved(f"{step.source} has other files than it had.")
    foreign = find_foreign(target, source, leaves_out=step.leaves_out)
    if foreign is not None:
        return Moved(f"{target.location.join(foreign)} is not part of the copy.")
    return NotDone()


def change_tree(
    step: TreeStep, stores: Stores, tell: Progress, *, check: Callable[[], None]
) -> None:
    """Carry a step out; a copy that was cut short is finished and compared.

    Args:
        step: Which is not done.
        stores: What it names.
        tell: Called after each file of a copy.
        check: Called before each file is changed; raises if the lease is lost.
    """
    match step:
        case DiscardTree():
            _delete_all(stores.at(step.place), leaves_out=(), check=check)
        case RemoveTree():
            _delete_all(stores.at(step.target), leaves_out=step.leaves_out, check=check)
        case CopyTree():
            source, target = stores.at(step.source), stores.at(step.target)
            for progress in copy_tree(source, target, leaves_out=step.leaves_out):
                check()
                tell(progress.verified, step.files)


def _delete_all(there: Writer, *, leaves_out: tuple[str, ...], check: Callable[[], None]) -> None:
    hidden = frozenset(leaves_out)
    for info in list(walk_in_order(there)):
        if info.path not in hidden:
            check()
            there.delete(info.path)
