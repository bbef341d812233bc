"""What is left to a person: written down in the plan, confirmed with a permission, journalled."""

from __future__ import annotations

from holdfast.apply.steps.kind import Done, StepKind, StepState, Undoing, Undone, Work
from holdfast.apply.stores import Stores
from holdfast.plan.steps import ByHand


class ByHandSteps(StepKind[ByHand]):
    """Say what a person does; nothing is changed."""

    def describe(self, step: ByHand) -> str:
        """Say what a step does."""
        return f"By hand: {step.what}"

    def look(self, step: ByHand, stores: Stores) -> StepState:
        """Believe the person who applies the plan: nothing shows it."""
        del step, stores
        return Done()

    def carry_out(self, step: ByHand, work: Work) -> None:
        """Change nothing."""

    def undo(self, step: ByHand, number: int, undoing: Undoing) -> Undone:
        """Say that nothing is taken back."""
        del number, undoing
        return Undone(told=(f"not taken back, since it was done by hand: {step.what}",))
