"""A directory that is held while its content is exchanged: a checkpoint at its own place.

A plain query finds its checkpoint where its program says, so the new one must stand there. Between
the old and the new one the directory has a marker instead of `metadata`. Spark cannot read it and
does not start: without it, a program that starts meanwhile would begin at an empty checkpoint.

Everything is copied aside and compared before the first file is deleted. What was cut short is
carried out again from there.
"""

from __future__ import annotations

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
from holdfast.errors import WriteError
from holdfast.plan.plan_file import Need, NoPlan
from holdfast.plan.steps import FillTree, HeldStep, HoldTree, Permission
from holdfast.plan.trees import HELD, find_foreign, hold_tree, is_held, list_files
from holdfast.record.layout import kept_path
from holdfast.storage.copying import copy_tree
from holdfast.storage.in_order import walk_in_order
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer


class HeldSteps(StepKind[HeldStep]):
    """Hold a directory, or fill one that is held."""

    def describe(self, step: HeldStep) -> str:
        """Say what a step does."""
        if isinstance(step, HoldTree):
            return f"Keep the {step.files:,} files of {step.place} in {step.aside}, and empty it"
        if step.source is None:
            return f"Put {len(step.contents):,} files into {step.place}"
        return f"Put the files of {step.source} into {step.place}"

    def look(self, step: HeldStep, stores: Stores) -> StepState:
        """Say how a directory stands to a step."""
        if _is_done(step, stores):
            return Done()
        there = stores.at(step.place)
        is_between = is_held(there, step.marker) if step.marker else _is_part(step, stores)
        if is_between or list_files(there).fingerprint == step.fingerprint:
            return NotDone()
        return Drifted(f"{step.place} has other files than it had.")

    def carry_out(self, step: HeldStep, work: Work) -> None:
        """Carry a step out; one that was cut short is carried out again from its copy."""
        if isinstance(step, HoldTree):
            _hold(step, work)
        else:
            _fill(step, work)

    def rehearse(self, step: HeldStep, work: Work) -> tuple[str, ...]:
        """Carry a step out on the overlay, whose copies cost nothing."""
        self.carry_out(step, work)
        return ()

    def undo(self, step: HeldStep, number: int, undoing: Undoing) -> Undone | NoPlan:
        """Return what holds a directory again, or fills it with what was there before."""
        there, why = undoing.stores.at(step.place), undoing.why(number)
        aside = str(undoing.journal.record.location.join(kept_path(undoing.plan_id, number)))
        held = hold_tree(step.stream, there, aside, marker=step.marker, why=why)
        if isinstance(step, FillTree):
            # Without a marker, the step that took everything out holds it again, and fills it.
            is_over = not step.marker or is_held(there, step.marker)
            return Undone(steps=() if is_over else (held,))
        if (held.fingerprint, held.marked) == (step.fingerprint, step.marked):
            return Undone()  # it was begun, and has only copied
        if list_files(undoing.stores.at(step.aside)).fingerprint != step.fingerprint:
            return NoPlan(
                reason=f"Plan {undoing.plan.id} cannot be taken back: the copy {step.aside} has "
                "other files than it had, or is gone."
            )
        filled = FillTree(
            stream=step.stream,
            place=step.place,
            fingerprint=held.fingerprint,
            source=step.aside,
            marker=step.marker,
            why=why,
        )
        if not step.marker:
            return Undone(steps=(held, filled))
        why = "No lease says that it is stopped."
        need = Need(permission=Permission.UNGUARDED, stream=step.stream, why=why)
        return Undone(steps=(filled,), needs=(need,))


def _is_done(step: HeldStep, stores: Stores) -> bool:
    there = stores.at(step.place)
    if isinstance(step, FillTree):
        return not is_held(there, step.marker) and _is_filled(step, stores)
    # From then on it is held, or another step has filled it.
    return _is_kept(step, stores) and not _has_old(step, stores)


def _is_kept(step: HoldTree, stores: Stores) -> bool:
    return list_files(stores.at(step.aside)).fingerprint == step.fingerprint


def _has_old(step: HoldTree, stores: Stores) -> bool:
    """Return whether a directory still has a file of before, beside its marker."""
    there = stores.at(step.place)
    found = hold_tree(step.stream, there, step.aside, marker=step.marker, why="")
    if step.marker and not is_held(there, step.marker):
        return (found.fingerprint, found.marked) == (step.fingerprint, step.marked)
    kept, left = stores.at(step.aside), found.files - bool(step.marker)
    return left > 0 and find_foreign(there, kept, leaves_out=(step.marker,)) is None


def _is_filled(step: FillTree, stores: Stores) -> bool:
    there = stores.at(step.place)
    for path, content in step.contents.items():
        if there.read(path) != content.encode():
            return False
    rest = list_files(there, leaves_out=tuple(step.contents)).fingerprint
    if step.source is None:
        return rest == list_files(there, leaves_out=_paths(there)).fingerprint
    source = stores.at(step.source)
    hidden = (*step.leaves_out, *step.contents)
    return rest == list_files(source, leaves_out=hidden).fingerprint


def _paths(there: Reader) -> tuple[str, ...]:
    return tuple(info.path for info in walk_in_order(there))


def _is_part(step: HeldStep, stores: Stores) -> bool:
    """Return whether a directory without a marker has nothing but a part of what it gets."""
    there = stores.at(step.place)
    if isinstance(step, HoldTree):
        kept = stores.at(step.aside)
        return _is_kept(step, stores) and find_foreign(there, kept) is None
    if step.source is None:
        return all(info.path in step.contents for info in walk_in_order(there))
    return find_foreign(there, stores.at(step.source), leaves_out=tuple(step.contents)) is None


def _hold(step: HoldTree, work: Work) -> None:
    there, aside = work.stores.at(step.place), work.stores.at(step.aside)
    if list_files(there).fingerprint == step.fingerprint:
        for progress in copy_tree(there, aside):
            work.check()
            work.progress(progress.verified, step.files)
    if not _is_kept(step, work.stores):
        raise WriteError(
            step.aside,
            why="The copy has other files than were copied.",
            how="Make sure that nothing else writes there.",
        )
    if step.marker:
        _mark(there, step.marker)
    _empty(there, work, without=step.marker)


def _mark(there: Writer, marker: str) -> None:
    there.put(marker, HELD.encode())
    there.delete(f".{marker}.crc")


def _empty(there: Writer, work: Work, *, without: str) -> None:
    for path in _paths(there):
        if path != without:
            work.check()
            there.delete(path)


def _fill(step: FillTree, work: Work) -> None:
    there = work.stores.at(step.place)
    source = None if step.source is None else work.stores.at(step.source)
    if step.marker:
        _mark(there, step.marker)
    _empty(there, work, without=step.marker)
    if source is not None:
        hidden = (*step.leaves_out, *step.contents, step.marker)
        total = list_files(source, leaves_out=hidden).count
        for progress in copy_tree(source, there, leaves_out=hidden):
            work.check()
            work.progress(progress.verified, total)
    for path, content in step.contents.items():
        if path != step.marker:
            there.put(path, content.encode())
    work.check()
    _unmark(step, there, source)


def _unmark(step: FillTree, there: Writer, source: Reader | None) -> None:
    """Put what belongs there in the place of the marker: from then on Spark starts."""
    if not step.marker:
        return
    content = step.contents.get(step.marker)
    raw = None if content is None else content.encode()
    if raw is None and source is not None and step.marker not in step.leaves_out:
        raw = source.read(step.marker)
    if raw is None:
        there.delete(step.marker)
    else:
        there.put(step.marker, raw)
