"""One application of a plan: what each of its steps stands for, and who carries it out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

import msgspec

from holdfast.apply.journal import Journal, read_journalled_plan
from holdfast.apply.leases import Leases
from holdfast.apply.steps.kind import NotDone, StepState, Work
from holdfast.apply.steps.table import kind_of
from holdfast.apply.stores import Stores
from holdfast.plan.plan_file import Plan
from holdfast.plan.steps import PutFile, RemoveFile, SettleSink, Step, WriteRange, ledger_row
from holdfast.record.layout import GENERATIONS
from holdfast.record.leases import Waiting
from holdfast.storage.location import parse_location
from holdfast.storage.write import Writer


class ProgressCallbacks(msgspec.Struct, frozen=True, kw_only=True):
    """Who is told how it goes."""

    step: Callable[[int, str], None] = lambda *_: None
    """Called after each step, with its number."""
    progress: Callable[[int, int], None] = lambda *_: None
    """Called within a long step."""
    waiting: Callable[[Waiting], None] = lambda *_: None
    """Called while a lease is waited for."""


class PlanRun(msgspec.Struct, frozen=True, kw_only=True):
    """One application of a plan."""

    plan: Plan
    stores: Stores
    telling: ProgressCallbacks
    allowed: Collection[str] = ()
    """The permissions that are given beside those that the plan names."""

    def record(self, stream: str) -> Writer:
        """Return the record of a stream."""
        return self.stores.at(str(self.plan.record_of(stream)))

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

    def undone_ranges(self) -> tuple[WriteRange, ...]:
        """Return the ranges that the plan takes back: a driver that is paused may write them."""
        return tuple(step for step in self.undone_steps() if isinstance(step, WriteRange))

    def undone_steps(self) -> tuple[Step, ...]:
        """Return the steps of the plan that is taken back, and of what that one takes back."""
        others = (plan for plan in self._plans() if plan is not self.plan)
        return tuple(step for plan in others for step in plan.steps)

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

    def look(self, step: Step) -> StepState:
        """Say how the world stands to a step."""
        return kind_of(step).look(step, self.stores)

    def work(self, number: int, leases: Leases | None = None) -> Work:
        """Return what a step is carried out with; without leases, on an overlay."""
        return Work(
            plan=self.plan,
            stores=self.stores,
            journal=self.journal,
            number=number,
            progress=self.telling.progress,
            leases=leases,
            allowed={*self.plan.words, *self.allowed},
        )

    def find_obstacles(self) -> tuple[str, ...]:
        """Return why sinks would refuse steps that are not done yet, one sentence each."""
        found = (
            self.stores.ledger(step.sink, writes=False).find_obstacle(
                ledger_row(step.stream, step.new), step.output
            )
            for step in self.plan.steps
            if isinstance(step, SettleSink) and isinstance(self.look(step), NotDone)
        )
        return tuple(dict.fromkeys(each for each in found if each is not None))

    def change(self, step: Step, number: int, leases: Leases) -> None:
        """Carry a step out."""
        leases.of(step.stream)  # refuses once the lease is lost
        kind_of(step).carry_out(step, self.work(number, leases))
