"""Takes back what a plan has done: a plan made from its journal, applied through the same door.

Files go back byte for byte, from the copies in the journal. A generation is never taken back: a
sink orders what may write by its number. So undoing a reset opens the next generation, on the
checkpoint of before, and the sinks get back the rows that were kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

import msgspec

from holdfast import __version__, clock
from holdfast.apply.applying import Applying, Telling
from holdfast.apply.journal import Journal, read_journalled_plan, split_journal
from holdfast.apply.standing import Done, Moved
from holdfast.apply.stores import Stores
from holdfast.apply.undo_checks import find_deleted, find_unlike_before
from holdfast.ledger.coverage import NOTHING_READ
from holdfast.ledger.output import EmptyOutput, KeepOutput, Output, RestoreOutput
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.plan.draft import new_plan_id
from holdfast.plan.plan_file import Impact, NoPlan, Plan
from holdfast.plan.steps import (
    CopyTree,
    DiscardTree,
    PutFile,
    RemoveFile,
    RemoveTree,
    RestoreFile,
    RowValue,
    SettleSink,
    Step,
    digest_of,
    row_value,
)
from holdfast.plan.trees import find_foreign
from holdfast.record.documents import encode
from holdfast.record.generations import UNDONE, Generation
from holdfast.record.layout import GENERATIONS

_COPIES = ("clone", "move")
"""Goals whose generations are those of a copy, which goes as a whole."""


def plan_undo(journal: str, stores: Stores) -> Plan | NoPlan:
    """Return the plan that takes back what a journal says was done.

    Args:
        journal: Where it is.
        stores: What it names.

    Raises:
        JournalError: It is no journal.
    """
    with stores.in_use():
        return _plan_undo(journal, stores)


def _plan_undo(journal: str, stores: Stores) -> Plan | NoPlan:
    record, plan_id = split_journal(journal)
    plan = read_journalled_plan(stores.at(str(record)), plan_id)
    undoing = _Undoing(plan=plan, stores=stores, plan_id=new_plan_id())
    if find_deleted(plan, stores):
        return NoPlan(reason=f"Plan {plan_id} deletes files for good: {plan.undo}")
    steps: list[Step] = []
    begun = undoing.journal.begun()
    for number, step in reversed(list(enumerate(plan.steps, start=1))):
        if number not in begun:
            continue
        standing = undoing.applying.look(step)
        if isinstance(standing, Moved) and not undoing.may_have_moved(step):
            return NoPlan(
                reason=f"Plan {plan_id} cannot be taken back as a whole: {standing.why} "
                "Something has used what the plan left."
            )
        if isinstance(standing, Done | Moved) or isinstance(step, CopyTree):
            steps += undoing.invert(step, number)
    if not steps and undoing.journal.ended() is not None:
        return NoPlan(reason=f"Plan {plan_id} has changed nothing.", is_fine=True)
    undo = undoing.put_together(tuple(steps))
    unlike = find_unlike_before(plan, undo, stores)
    if unlike:
        return NoPlan(
            reason=f"Plan {plan_id} cannot be taken back: it would not be as before. {unlike[0]} "
            "The stream has run since, or something was deleted."
        )
    return undo


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undoing:
    """One plan that is taken back."""

    plan: Plan
    stores: Stores
    plan_id: str

    @property
    def applying(self) -> Applying:
        return Applying(plan=self.plan, stores=self.stores, telling=Telling())

    @property
    def journal(self) -> Journal:
        return self.applying.journal

    def may_have_moved(self, step: Step) -> bool:
        """Return whether a step can be taken back although its stream has run since."""
        may = isinstance(step, SettleSink | CopyTree) and self._opens_generation(step.stream)
        return may and (isinstance(step, CopyTree) or self._is_of_plan(step))

    def _is_of_plan(self, step: Step) -> bool:
        """Return whether a sink is still in the generation and checkpoint that the plan gave it."""
        assert isinstance(step, SettleSink)
        found = self.stores.ledger(step.sink, writes=False).read(step.stream)
        binding = (step.new.generation, step.new.checkpoint)
        return (
            isinstance(found, LedgerRow) and (found.generation, found.binding.checkpoint) == binding
        )

    def _opens_generation(self, stream: str) -> bool:
        return any(self._opens(each) and each.stream == stream for each in self.plan.steps)

    def _opens(self, step: Step) -> bool:
        """Return whether a step opens the next generation of a stream that is there already."""
        return self.plan.goal not in _COPIES and _is_generation(step)

    def invert(self, step: Step, number: int) -> Iterator[Step]:
        """Yield the steps that take one back."""
        why = f"It takes back step {number} of plan {self.plan.id}."
        match step:
            case PutFile() if self._opens(step):
                yield self._next_generation(step, why)
            case PutFile(replaces=None) | RestoreFile(replaces=None):
                yield from self._remove(step, why)
            case PutFile() | RestoreFile() | RemoveFile():
                yield self._restore(step, number, why)
            case CopyTree():
                yield from self._remove_copy(step, why)
            case RemoveTree() | DiscardTree():
                return
            case SettleSink():
                yield from self._settle(step, number, why)
            case _:
                assert_never(step)

    def _remove(self, step: PutFile | RestoreFile, why: str) -> Iterator[Step]:
        if self._is_unused(step.stream, step.place):
            yield RemoveFile(
                stream=step.stream,
                place=step.place,
                path=step.path,
                sha256=_left_by(step),
                why=why,
            )

    def _remove_copy(self, step: CopyTree, why: str) -> Iterator[Step]:
        if self._is_unused(step.stream, step.target):
            yield RemoveTree(
                stream=step.stream,
                source=step.source,
                target=step.target,
                fingerprint=step.fingerprint,
                leaves_out=step.leaves_out,
                why=why,
            )

    def _is_unused(self, stream: str, place: str) -> bool:
        """Return whether a place is no checkpoint that has run since: such a one is kept."""
        return not self._opens_generation(stream) or not self._has_run(place)

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

    def _next_generation(self, step: PutFile, why: str) -> PutFile:
        """Return the generation that goes back to the checkpoint of the one before."""
        opened = msgspec.json.decode(step.content, type=Generation)
        before = self._generation(step, opened.number - 1)
        again = msgspec.structs.replace(
            before,
            number=opened.number + 1,
            why=UNDONE,
            opened_at=clock.now().isoformat(timespec="seconds"),
        )
        return PutFile(
            stream=step.stream,
            place=step.place,
            path=again.path,
            content=encode(again).decode(),
            why=why,
        )

    def _generation(self, step: PutFile, number: int) -> Generation:
        raw = self.stores.at(step.place).read(f"{GENERATIONS}/{number:04d}.json")
        return msgspec.json.decode(raw or b"", type=Generation)

    def _settle(self, step: SettleSink, number: int, why: str) -> Iterator[Step]:
        found = self.stores.ledger(step.sink, writes=False).read(step.stream)
        old = step.old or self._no_row(step)
        if old is None or not isinstance(found, LedgerRow):
            return
        generation = old.generation
        if step.new.generation > generation:
            generation = step.new.generation + 1
        yield SettleSink(
            stream=step.stream,
            sink=step.sink,
            old=row_value(found),
            new=msgspec.structs.replace(old, generation=generation),
            output=self._output(step, number),
            why=why,
        )

    def _no_row(self, step: SettleSink) -> RowValue | None:
        """Return a row without a batch for a sink that had none; None if it kept its rows."""
        own = (each for each in self.plan.steps if each.stream == step.stream)
        opened = next((each for each in own if self._opens(each)), None)
        if isinstance(step.output, KeepOutput) or not isinstance(opened, PutFile):
            return None
        before = self._generation(opened, step.new.generation - 1)
        return msgspec.structs.replace(
            step.new,
            generation=before.number,
            query_id=before.query_id,
            checkpoint=before.checkpoint,
            last_batch=NO_BATCH,
            digest=None,
            end_offsets=NOTHING_READ,
        )

    def _output(self, step: SettleSink, number: int) -> Output:
        ledger = self.stores.ledger(step.sink, writes=False)
        aside = f"holdfast.kept_{self.plan_id.replace('-', '_')}_{number}"
        if ledger.keeps_versions:
            aside = ledger.table_version(step.stream) or aside
        match step.output:
            case KeepOutput():
                return KeepOutput()
            case EmptyOutput(kept=kept):
                return RestoreOutput(kept=kept, aside=aside)
            case RestoreOutput(aside=kept):
                return RestoreOutput(kept=kept, aside=aside)

    def put_together(self, steps: tuple[Step, ...]) -> Plan:
        """Return the plan."""
        plan = self.plan
        return Plan(
            id=self.plan_id,
            goal="undo",
            stream=plan.stream,
            root=plan.root,
            made_at=clock.now().isoformat(timespec="seconds"),
            made_by=f"Holdfast {__version__}",
            undoes=plan.id,
            summary=f"Take back the {plan.goal} of {', '.join(plan.streams)} (plan {plan.id}).",
            impact=tuple(
                Impact(stream=each, position="where it was before") for each in plan.streams
            ),
            undo="Make the first plan again.",
            afterwards=("Start the streams as before.",),
            roots=plan.roots,
            preconditions=(),
            steps=steps,
        )


def _left_by(step: PutFile | RestoreFile) -> str:
    """Return the SHA-256 of the file that a step has left."""
    return digest_of(step.content) if isinstance(step, PutFile) else step.sha256


def _is_generation(step: Step) -> bool:
    return isinstance(step, PutFile) and step.path.startswith(f"{GENERATIONS}/")
