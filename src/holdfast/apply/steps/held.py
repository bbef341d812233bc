"""A directory that is held while its content is exchanged: a checkpoint at its own place.

A plain query finds its checkpoint where its program says, so the new one must stand there. Between
the old and the new one the directory has a marker instead of `metadata`. Spark cannot read it and
does not start: without it, a program that starts meanwhile would begin at an empty checkpoint.

Everything is copied aside and compared before the first file is deleted. What was cut short is
carried out again from there.
"""

from __future__ import annotations

from collections.abc import Iterator

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
from holdfast.storage.half_made import is_half_made
from holdfast.storage.in_order import walk_in_order
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer
from holdfast.wording import count


class HeldSteps(StepKind[HeldStep]):
    """Hold a directory, or fill one that is held."""

    def describe(self, step: HeldStep) -> str:
        """Say what a step does."""
        if isinstance(step, HoldTree):
            if not step.files:
                return f"Hold {step.place}, which has no files"
            files = count(step.files, "file")
            return f"Keep the {files} of {step.place} in {step.aside}, and empty it"
        if step.source is None:
            return f"Put {count(len(step.contents), 'file')} into {step.place}"
        return f"Put the files of {step.source} into {step.place}"

    def look(self, step: HeldStep, stores: Stores) -> StepState:
        """Say how a directory stands to a step."""
        if _is_done(step, stores):
            return Done()
        there = stores.at(step.place)
        if _is_between(step, stores) or list_files(there).fingerprint == step.fingerprint:
            return NotDone()
        unexpected = _find_unexpected(step, stores) if is_held(there, step.marker) else None
        named = "" if unexpected is None else f", such as {unexpected}"
        return Drifted(f"{step.place} has other files than it had{named}.")

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
        # What has come since is kept too: by the undo of the step that has filled it, or here.
        is_kept = _is_filled_since(step, undoing) or held.files == is_held(there, step.marker)
        steps = (filled,) if step.marker and is_kept else (held, filled)
        if not step.marker:
            return Undone(steps=steps)
        run_since = _find_run_since(step, undoing)
        if run_since is not None and run_since.stays_with_log:
            return _refuse_logs(undoing.plan.id, run_since.stays_with_log)
        return Undone(steps=steps, needs=tuple(_needs(step.stream, run_since)))


def _find_run_since(step: HoldTree, undoing: Undoing) -> FillTree | None:
    """Return the step that has filled a checkpoint that a program has used since."""
    filled = [
        each
        for each in undoing.plan.steps
        if isinstance(each, FillTree) and (each.place, each.marker) == (step.place, step.marker)
    ]
    if not filled or is_held(undoing.stores.at(step.place), step.marker):
        return None
    return None if _is_filled(filled[0], undoing.stores) else filled[0]


def _refuse_logs(plan_id: str, logs: tuple[str, ...]) -> NoPlan:
    return NoPlan(
        reason=f"Plan {plan_id} cannot be taken back: the program has run since, and what it wrote "
        f"stays in {', '.join(logs)}, with the numbers of its batches in _spark_metadata. Spark's "
        "file sink leaves out batches with these numbers, so the checkpoint of before would lose "
        "as many. The one that is there goes on as it is."
    )


def _needs(stream: str, run_since: FillTree | None) -> Iterator[Need]:
    why = "No lease says that it is stopped."
    yield Need(permission=Permission.UNGUARDED, stream=stream, why=why)
    if run_since is not None and run_since.stays:
        why = f"{', '.join(run_since.stays)} keeps what the program has written since, and gets it "
        yield Need(permission=Permission.REPEATS_DATA, stream=stream, why=f"{why}again.")


def _is_filled_since(step: HoldTree, undoing: Undoing) -> bool:
    """Return whether another step of the plan has filled a directory, and holds it in the undo."""
    begun = undoing.journal.begun()
    return not is_held(undoing.stores.at(step.place), step.marker) and any(
        isinstance(each, FillTree) and each.place == step.place and number in begun
        for number, each in enumerate(undoing.plan.steps, start=1)
    )


def _is_done(step: HeldStep, stores: Stores) -> bool:
    there = stores.at(step.place)
    if isinstance(step, FillTree):
        return not is_held(there, step.marker) and _is_filled(step, stores)
    left = (path for path in _paths(there) if path != step.marker and not is_half_made(path))
    is_empty = next(left, None) is None
    return is_empty and _is_kept(step, stores) and is_held(there, step.marker) == bool(step.marker)


def _is_kept(step: HoldTree, stores: Stores) -> bool:
    return list_files(stores.at(step.aside)).fingerprint == step.fingerprint


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


def _is_between(step: HeldStep, stores: Stores) -> bool:
    """Return whether a step was cut short: there is nothing but a part of what it takes or puts."""
    if step.marker and not is_held(stores.at(step.place), step.marker):
        return False
    if isinstance(step, HoldTree) and not _is_kept(step, stores):
        return False
    return _find_unexpected(step, stores) is None


def _find_unexpected(step: HeldStep, stores: Stores) -> str | None:
    """Return a file that a step neither takes away nor puts there; None without one."""
    there = stores.at(step.place)
    if isinstance(step, HoldTree):
        return find_foreign(there, stores.at(step.aside), leaves_out=(step.marker,))
    own = (*step.contents, step.marker)
    if step.source is not None:
        return find_foreign(there, stores.at(step.source), leaves_out=own)
    others = (path for path in _paths(there) if path not in own and not is_half_made(path))
    return next(others, None)


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
    _empty(step, work, aside)


def _mark(there: Writer, marker: str) -> None:
    there.put(marker, HELD.encode())
    there.delete(f".{marker}.crc")


def _empty(step: HeldStep, work: Work, kept: Reader | None) -> None:
    """Delete what is kept elsewhere or written again, and nothing that has come meanwhile."""
    there = work.stores.at(step.place)
    own = step.contents if isinstance(step, FillTree) else {}
    for path in _paths(there):
        is_known = path in own or is_half_made(path) or (kept is not None and kept.stat(path))
        if path != step.marker and is_known:
            work.check()
            there.delete(path)
    # Spark 4 does not begin a query whose `state` has anything in it, be it an empty directory.
    there.remove_empty_directories()


def _fill(step: FillTree, work: Work) -> None:
    there = work.stores.at(step.place)
    source = None if step.source is None else work.stores.at(step.source)
    if step.marker:
        _mark(there, step.marker)
    _empty(step, work, source)
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
