"""What a kind of step is: its words, its state, how it is carried out, and how it is taken back.

The steps themselves are pure data, in `plan`, which cannot write. Everything that is known of a
kind of step stands in its one module here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Generic, TypeVar

import msgspec

from holdfast.apply.journal import Journal
from holdfast.apply.leases import Leases
from holdfast.apply.stores import Stores
from holdfast.plan.plan_file import Need, NoPlan, Plan
from holdfast.plan.steps import Step

S = TypeVar("S", bound=Step)


class NotDone(msgspec.Struct, frozen=True):
    """Everything is as the step expects it."""


class Done(msgspec.Struct, frozen=True):
    """Everything is as the step leaves it."""


class Drifted(msgspec.Struct, frozen=True):
    """Something else has changed it; the step must not be carried out."""

    why: str


StepState = NotDone | Done | Drifted


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a plan that is carried out."""

    plan: Plan
    stores: Stores
    journal: Journal
    number: int
    """Of the step, from 1."""
    progress: Callable[[int, int], None] = lambda *_: None
    """Called within a long step."""
    leases: Leases | None = None
    """None in a rehearsal: nothing but an overlay is changed."""
    allowed: Collection[str] = ()
    """The permissions that were given, for this plan or for going on with it."""

    def check(self) -> None:
        """Refuse to change anything more once a lease is lost.

        Raises:
            StreamRunsError: It is.
        """
        if self.leases is not None:
            self.leases.check()


class Undoing(msgspec.Struct, frozen=True, kw_only=True):
    """One plan that is taken back."""

    plan: Plan
    stores: Stores
    journal: Journal
    """Of the plan that is taken back."""
    plan_id: str
    """Of the plan that takes it back."""
    opened: Mapping[str, Step]
    """The step that opened a generation, by its stream: a checkpoint that has run since stays."""

    def why(self, number: int) -> str:
        """Say why a step is there."""
        return f"It takes back step {number} of plan {self.plan.id}."


class Undone(msgspec.Struct, frozen=True, kw_only=True):
    """What takes one step back."""

    steps: tuple[Step, ...] = ()
    told: tuple[str, ...] = ()
    """What becomes of a sink, one sentence each."""
    needs: tuple[Need, ...] = ()


class StepKind(ABC, Generic[S]):
    """Everything that is known of one kind of step."""

    @abstractmethod
    def describe(self, step: S) -> str:
        """Say what a step does, in one sentence."""

    @abstractmethod
    def look(self, step: S, stores: Stores) -> StepState:
        """Say how the world stands to a step."""

    @abstractmethod
    def carry_out(self, step: S, work: Work) -> None:
        """Carry out a step that is not done; a step that was cut short is finished."""

    def rehearse(self, step: S, work: Work) -> tuple[str, ...]:
        """Carry a step out on an overlay; return what only carrying it out can show."""
        del step, work
        return ()

    @abstractmethod
    def undo(self, step: S, number: int, undoing: Undoing) -> Undone | NoPlan:
        """Return what takes a step back that was carried out."""
