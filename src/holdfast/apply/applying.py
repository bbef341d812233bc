"""One application of a plan: what each of its steps stands for, and who carries it out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import assert_never

from holdfast.apply.file_steps import change_file, look_at_file
from holdfast.apply.journal import Journal, read_journalled_plan
from holdfast.apply.leases import Leases
from holdfast.apply.sink_steps import change_sink, find_obstacle, look_at_sink
from holdfast.apply.standing import NotDone, Standing
from holdfast.apply.stores import Stores
from holdfast.apply.tree_steps import change_tree, look_at_tree
from holdfast.ledger.output import EmptyOutput, RestoreOutput
from holdfast.plan.plan_file import Plan
from holdfast.plan.preconditions import LedgerIs
from holdfast.plan.steps import (
    CopyTree,
    DiscardTree,
    PutFile,
    RemoveFile,
    RemoveTree,
    RestoreFile,
    SettleSink,
    Step,
)
from holdfast.record.layout import GENERATIONS, record_location
from holdfast.record.leases import Waiting
from holdfast.storage.location import parse_location
from holdfast.storage.write import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Who is told how it goes."""

    step: Callable[[int, str], None] = lambda *_: None
    """Called after each step, with its number."""
    progress: Callable[[int, int], None] = lambda *_: None
    """Called within a long step."""
    waiting: Callable[[Waiting], None] = lambda *_: None
    """Called while a lease is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applying:
    """One application of a plan."""

    plan: Plan
    stores: Stores
    telling: Telling

    def record(self, stream: str) -> Writer:
        """Return the record of a stream."""
        return self.stores.at(str(record_location(parse_location(self.plan.root), stream)))

    def records(self) -> tuple[tuple[str, Writer], ...]:
        """Return the records of the streams that the plan changes, each with its stream.

        A move, and the undo of one, change a second record of the stream, in another root. What is
        taken back has left its marks there, also if nothing else is changed there now.
        """
        found = {str(self.record(each).location): each for each in self.plan.streams}
        for step in (step for plan in self._plans() for step in plan.steps):
            if isinstance(step, PutFile | RemoveFile) and step.path.startswith(f"{GENERATIONS}/"):
                found.setdefault(str(parse_location(step.place)), step.stream)
        return tuple((stream, self.stores.at(place)) for place, stream in found.items())

    def _plans(self) -> Iterator[Plan]:
        """Yield this plan, the one that it takes back, what that one takes back, and so on.

        Raises:
            JournalError: The journal of a plan that is taken back cannot be read.
        """
        seen, plan = {self.plan.id}, self.plan
        yield plan
        while plan.undoes is not None and plan.undoes not in seen:
            seen.add(plan.undoes)
            plan = read_journalled_plan(self.record(self.plan.stream), plan.undoes)
            yield plan

    @property
    def journal(self) -> Journal:
        """The journal, in the record of the plan's first stream."""
        return Journal(self.record(self.plan.stream), self.plan)

    def repairs(self) -> frozenset[str]:
        """Return the ids of this plan, of the one that it takes back, and of what that one does.

        Raises:
            JournalError: The journal of a plan that is taken back cannot be read.
        """
        return frozenset(each.id for each in self._plans())

    def look(self, step: Step) -> Standing:
        """Say how the world stands to a step."""
        match step:
            case PutFile() | RemoveFile() | RestoreFile():
                return look_at_file(step, self.stores.at(step.place))
            case CopyTree() | RemoveTree() | DiscardTree():
                return look_at_tree(step, self.stores)
            case SettleSink():
                return look_at_sink(step, self.stores.ledger(step.sink, writes=False))
            case _:
                assert_never(step)

    def find_obstacles(self) -> tuple[str, ...]:
        """Return why sinks would refuse steps that are not done yet, one sentence each."""
        found = (
            find_obstacle(step, self.stores.ledger(step.sink, writes=False))
            for step in self.plan.steps
            if isinstance(step, SettleSink) and isinstance(self.look(step), NotDone)
        )
        return tuple(dict.fromkeys(each for each in found if each is not None))

    def _seen(self, step: SettleSink) -> str | None:
        """Return what told the rows of a sink apart when the plan was made.

        None where rows of other writers stay: they may come and go.
        """
        if not isinstance(step.output, EmptyOutput | RestoreOutput):
            return None
        for each in self.plan.preconditions:
            if isinstance(each, LedgerIs) and (each.stream, each.sink) == (step.stream, step.sink):
                return each.table
        return None

    def change(self, step: Step, number: int, leases: Leases) -> None:
        """Carry a step out."""
        lease = leases.of(step.stream)
        match step:
            case PutFile() | RemoveFile() | RestoreFile():
                journal, there = self.journal, self.stores.at(step.place)
                kept = journal.kept(number)
                change_file(step, there, journal=journal.record, kept=kept, check=leases.check)
            case CopyTree() | RemoveTree() | DiscardTree():
                change_tree(step, self.stores, self.telling.progress, check=leases.check)
            case SettleSink():
                ledger = self.stores.ledger(step.sink, writes=True)
                change_sink(step, ledger, lease, seen=self._seen(step))
                self.stores.forget_ledgers()
            case _:
                assert_never(step)
