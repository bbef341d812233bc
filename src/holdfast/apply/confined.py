"""What a plan may touch, whatever its file says: a plan is input from anybody.

Its places are the root that it is for, the checkpoints that the records of its streams name, and
what it creates where nothing is. It writes files of checkpoints and records, and no others. It
deletes only what a record or a journal shows to be a copy, or to be left behind.
"""

from __future__ import annotations

import re

from holdfast.apply.applying import PlanRun
from holdfast.apply.journal import read_journalled_plan
from holdfast.plan.plan_file import Plan, PlanFileError
from holdfast.plan.steps import (
    ByHand,
    CopyTree,
    DiscardTree,
    FileStep,
    FillTree,
    HoldTree,
    MoveSource,
    PutFile,
    RemoveFile,
    RemoveTree,
    RestoreFile,
    SettleSink,
    Step,
    WriteRange,
)
from holdfast.record.generations import Generation, read_generations
from holdfast.storage.local import is_same_place
from holdfast.storage.location import Location, is_inside, parse_location

_FILE = re.compile(
    r"(\.?metadata(\.crc)?|(offsets|commits|sources|state)/.+"  # of a checkpoint
    r"|(generations|contracts|runs|inputs|batches|snapshots)/.+|backfill\.json)"  # of a record
)
_BATCH_OF_OUTPUT = re.compile(r"_spark_metadata/[0-9]+")
_PRUNE, _RETIRE = "prune", "retire"


def refuse_unlike_steps(applying: PlanRun) -> None:
    """Refuse a plan whose steps are not such as Holdfast plans.

    Raises:
        PlanFileError: One touches what the plan must not.
    """
    confined = _Confined(applying)
    for step in applying.plan.steps:
        why = confined.find_fault(step)
        if why is not None:
            raise PlanFileError(f"Plan {applying.plan.id}", why)


class _Confined:
    """The places and the copies that a plan may touch."""

    def __init__(self, applying: PlanRun) -> None:
        self._applying = applying
        self._plan = plan = applying.plan
        self._generations = tuple(self._read_generations())
        self._undone = self._read_undone(plan)
        self._roots = (parse_location(plan.root), *map(parse_location, applying.stores.roots))

    def _read_generations(self) -> list[tuple[str, Generation]]:
        found = []
        for stream in self._plan.streams:
            record = self._applying.record(stream)
            found += [(stream, each) for each in read_generations(record)]
        return found

    def _read_undone(self, plan: Plan) -> Plan | None:
        if plan.undoes is None:
            return None
        return read_journalled_plan(self._applying.record(plan.stream), plan.undoes)

    def find_fault(self, step: Step) -> str | None:
        """Say why a step is not one that Holdfast plans; None if it is."""
        match step:
            case PutFile() | RemoveFile() | RestoreFile() | MoveSource():
                return self._find_file_fault(step)
            case CopyTree() | HoldTree() | FillTree():
                return self._find_tree_fault(step)
            case RemoveTree():
                return self._find_removal_fault(step)
            case DiscardTree():
                return self._find_discard_fault(step)
            case SettleSink() | WriteRange() | ByHand():
                return None

    def _find_file_fault(self, step: FileStep | MoveSource) -> str | None:
        if not _is_file(step.path):
            return _say_no_file(step.path)
        creates = isinstance(step, PutFile) and step.replaces is None
        return self._find_place_fault(step.place, creates=creates)

    def _find_tree_fault(self, step: CopyTree | HoldTree | FillTree) -> str | None:
        match step:
            case CopyTree():
                changed, copy = step.source, step.target
            case HoldTree():
                changed, copy = step.place, step.aside
            case FillTree():
                changed, copy = step.source or step.place, step.place
                is_output = not step.marker
                for path in step.contents:
                    if not (_is_file(path) or (is_output and _BATCH_OF_OUTPUT.fullmatch(path))):
                        return _say_no_file(path)
        fault = self._find_place_fault(changed, creates=False)
        return fault or self._find_place_fault(copy, creates=not isinstance(step, FillTree))

    def _find_place_fault(self, text: str, *, creates: bool) -> str | None:
        """Say why a place is not the plan's; None if it is.

        What is only created takes nothing away: the new root of a stream that moves.
        """
        place = parse_location(text)
        if any(is_inside(place, each) for each in self._roots) or self._is_of_record(place):
            return None
        if self._undone is not None and text in self._undone.places:
            return None
        named = [parse_location(each) for each in self._plan.roots]
        if creates and any(is_inside(place, each) for each in named):
            return None
        return (
            f"A step changes files in {text}, outside {self._plan.root}, and no record of its "
            f"streams names that place. If you mean it, add: --root {text}"
        )

    def _is_of_record(self, place: Location) -> bool:
        return any(
            is_same_place(place, parse_location(each.checkpoint)) for _, each in self._generations
        )

    def _find_removal_fault(self, step: RemoveTree) -> str | None:
        """Say why a directory is not a copy that the plan which is taken back has made."""
        copied = () if self._undone is None else self._undone.steps
        for each in copied:
            if isinstance(each, CopyTree) and _tree_of(each) == _tree_of(step):
                return None
        return f"A step removes {step.target}, which no plan of this stream has copied."

    def _find_discard_fault(self, step: DiscardTree) -> str | None:
        """Say why a directory is not a checkpoint that was left behind, or archived."""
        if step.fingerprint is None:
            return f"A step deletes {step.place} without saying what is in it. Plan it again."
        own = [each for stream, each in self._generations if stream == step.stream]
        place = parse_location(step.place)
        is_left = [each for each in own if is_same_place(place, parse_location(each.checkpoint))]
        if not is_left:
            return f"A step deletes {step.place}, which is no checkpoint of {step.stream}."
        current = parse_location(own[-1].checkpoint)
        if self._plan.goal == _PRUNE and not is_inside(current, place):
            return None
        if self._plan.goal == _RETIRE and self._is_archived(step):
            return None
        return f"A step deletes {step.place}, which is in use, without a copy of it."

    def _is_archived(self, step: DiscardTree) -> bool:
        """Return whether an earlier step copies everything that a step deletes."""
        steps = self._plan.steps
        before = steps[: steps.index(step)]
        return any(
            isinstance(each, CopyTree)
            and (each.source, each.fingerprint, each.leaves_out)
            == (step.place, step.fingerprint, ())
            for each in before
        )


def _is_file(path: str) -> bool:
    """Return whether a path is one of a checkpoint or a record, and leads nowhere else."""
    return _FILE.fullmatch(path) is not None and {".", ".."}.isdisjoint(path.split("/"))


def _say_no_file(path: str) -> str:
    return f"A step changes {path}, which is no file of a checkpoint or a record."


def _tree_of(step: CopyTree | RemoveTree) -> tuple[str, str, str, tuple[str, ...]]:
    return step.source, step.target, step.fingerprint, step.leaves_out
