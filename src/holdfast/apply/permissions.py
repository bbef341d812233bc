"""Which permissions a plan needs: by its steps, whatever its file says, and by its file."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from holdfast.apply.errors import NotAllowedError
from holdfast.apply.steps.table import describe
from holdfast.ledger.output import EmptyOutput, ExchangeOutput, KeepOutput, RestoreOutput
from holdfast.plan.plan_file import Plan
from holdfast.plan.steps import DiscardTree, Permission, SettleSink, Step

_UNSAID = "The plan needs a permission that its file does not name."


def find_needed(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield every permission that a plan needs, each with the reason."""
    for step in plan.steps:
        word = f"{Permission.DESTRUCTIVE}:{step.stream}"
        if _takes_away(step, plan) and word not in plan.words:
            yield word, f"{describe(step)}."
    for need in plan.needs:
        yield need.word, need.why


def _takes_away(step: Step, plan: Plan) -> bool:
    """Return whether a step takes away rows or files that nothing else has put there."""
    if not isinstance(step, SettleSink):
        return isinstance(step, DiscardTree)
    match step.output:
        case KeepOutput():
            return False
        case RestoreOutput():
            return plan.undoes is None
        case ExchangeOutput():
            return step.output.rows != 0
        case EmptyOutput():
            return True


def refuse_unsaid(plan: Plan, needed: Collection[str], allowed: Collection[str]) -> None:
    """Refuse a plan that needs a permission which its file does not name.

    Raises:
        NotAllowedError: It does.
    """
    unsaid = sorted(set(needed) - set(allowed))
    if unsaid:
        raise NotAllowedError(plan.id, tuple((word, _UNSAID) for word in unsaid))
