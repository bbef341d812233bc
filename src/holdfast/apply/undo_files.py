"""The part of an undo that brings files back, byte for byte, and removes unused copies."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import msgspec

from holdfast.apply.journal import Journal
from holdfast.apply.stores import Stores
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.steps import (
    CopyTree,
    PutFile,
    RemoveFile,
    RemoveTree,
    RestoreFile,
    Step,
    digest_of,
)
from holdfast.plan.trees import copy_tree, find_foreign, list_files
from holdfast.record.batches import JournalledBatch, list_journalled, of_generation
from holdfast.record.documents import encode, read_document
from holdfast.record.generations import Generation
from holdfast.record.layout import BATCHES, record_location
from holdfast.storage.below import ReaderBelow
from holdfast.storage.location import is_inside, parse_location


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoingFiles:
    """The files of one plan that is taken back."""

    plan: Plan
    stores: Stores
    journal: Journal
    reopened: Collection[str]
    """The streams of which the plan opened a generation: a checkpoint that has run since stays."""

    def put_back(
        self, step: PutFile | RestoreFile | RemoveFile, number: int, why: str
    ) -> tuple[Step, ...]:
        """Return what brings a file to what it was before a step of the plan."""
        if not isinstance(step, RemoveFile) and step.replaces is None:
            return tuple(self._remove(step, why))
        return (self._restore(step, number, why),)

    def _remove(self, step: PutFile | RestoreFile, why: str) -> Iterator[Step]:
        """Yield the removal of a file that the plan created."""
        if self._is_unused(step.stream, step.place):
            yield RemoveFile(
                stream=step.stream,
                place=step.place,
                path=step.path,
                sha256=_left_by(step),
                why=why,
            )

    def copy_materialised(self, step: PutFile, generation: int, why: str) -> Iterator[Step]:
        """Yield the copies of batches that one sink may hold and another one lack.

        A generation reads its own only. So the one that goes back to a checkpoint gets those of
        the generation that had it.

        Args:
            step: Which opened the generation that is left.
            generation: That is opened instead.
            why: Why the steps are there.
        """
        record = self.stores.at(step.place)
        opened = msgspec.json.decode(step.content, type=Generation)
        for path in list_journalled(record, opened.number - 1, first=0):
            found = read_document(record, path, JournalledBatch)
            if found is None:
                continue
            again = of_generation(found, generation)
            rows = list_files(ReaderBelow(record, found.rows))
            source, target = (str(record.location.join(each.rows)) for each in (found, again))
            yield copy_tree(step.stream, source, target, files=rows, why=why)
            yield PutFile(
                stream=step.stream,
                place=step.place,
                path=again.path,
                content=encode(again).decode(),
                why=why,
            )

    def remove_copy(self, step: CopyTree, why: str) -> Iterator[Step]:
        """Yield the removal of a directory that the plan copied."""
        batches = record_location(parse_location(self.plan.root), step.stream).join(BATCHES)
        if step.stream in self.reopened and is_inside(parse_location(step.target), batches):
            return  # rows of a generation that another undo may go back to
        if self._is_unused(step.stream, step.target):
            yield RemoveTree(
                stream=step.stream,
                source=step.source,
                target=step.target,
                fingerprint=step.fingerprint,
                leaves_out=step.leaves_out,
                why=why,
            )

    def copy_again(self, step: RemoveTree, why: str) -> tuple[CopyTree, ...] | NoPlan:
        """Return the copy of a directory that an undo removed."""
        source = self.stores.at(step.source)
        found = list_files(source, leaves_out=step.leaves_out)
        if found.fingerprint != step.fingerprint:
            return NoPlan(
                reason=f"Plan {self.plan.id} cannot be taken back: it removed {step.target}, a "
                f"copy of {step.source}, which has other files by now."
            )
        return (copy_tree(step.stream, step.source, step.target, files=found, why=why),)

    def _is_unused(self, stream: str, place: str) -> bool:
        """Return whether a place is no checkpoint that has run since: such a one is kept."""
        return stream not in self.reopened or not self._has_run(place)

    def _has_run(self, place: str) -> bool:
        """Return whether a place has files that the plan did not leave there."""
        there = self.stores.at(place)
        put = {each.path for each in self.plan.steps if isinstance(each, PutFile)}
        for step in self.plan.steps:
            if isinstance(step, CopyTree) and step.target == place:
                again = set(step.leaves_out) - put  # Spark plans these batches again
                source = self.stores.at(step.source)
                has_again = any(each.path in again for each in there.walk())
                return has_again or find_foreign(there, source, leaves_out=put) is not None
        return any(each.path not in put for each in there.walk())

    def _restore(self, step: PutFile | RestoreFile | RemoveFile, number: int, why: str) -> Step:
        """Return what puts a file back that the plan replaced or removed."""
        before = step.sha256 if isinstance(step, RemoveFile) else step.replaces
        assert before is not None
        after = None if isinstance(step, RemoveFile) else _left_by(step)
        return RestoreFile(
            stream=step.stream,
            place=step.place,
            path=step.path,
            kept=self.journal.kept(number),
            sha256=before,
            replaces=after,
            why=why,
        )


def _left_by(step: PutFile | RestoreFile) -> str:
    """Return the SHA-256 of the file that a step has left."""
    return digest_of(step.content) if isinstance(step, PutFile) else step.sha256
