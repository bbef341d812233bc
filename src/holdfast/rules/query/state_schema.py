"""Queries whose state has another form than the checkpoint's."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.evidence.state_columns import Differs, StateChange
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import (
    AGGREGATE,
    DEDUPLICATING,
    both_contracts,
    listed,
    state_changes,
    told,
)
from holdfast.rules.commands import reset_advice
from holdfast.rules.rule import Finding, rule


@rule("HF510", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.ALTERS, Goal.RESUME)
def state_columns_reordered(case: Case) -> Iterator[Finding]:
    """Columns of state are in another order, and Spark does not see it."""
    for change in state_changes(case):
        if change.how is not Differs.IN_ORDER:
            continue
        found = state_columns_reordered.find(
            what=(
                f"{told(change)} was {listed(change.before)} and is {listed(change.now)} now. "
                "The types are equal, so Spark starts without a warning and binds each column "
                "to the values of another one."
            ),
            how="Restore the order of the columns in the code.",
            accepting=(
                "Spark binds old state to the wrong columns: groups, totals and duplicates are "
                "wrong from the next batch on"
            ),
            follows_from=(change.follows_from,),
        )
        is_deduplicating = change.operator in DEDUPLICATING
        yield replace(found, effect=Effect.REPEATS) if is_deduplicating else found


@rule("HF511", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESET)
def state_schema_incompatible(case: Case) -> Iterator[Finding]:
    """The columns of state have other types or can be NULL now, and Spark will refuse them."""
    for change in state_changes(case):
        if change.how not in (Differs.IN_TYPE, Differs.IN_NULLABILITY):
            continue
        yield state_schema_incompatible.find(
            what=(
                f"{_differs(change)}. Spark fails in the first batch, with "
                f"STATE_STORE_{change.part.upper()}_SCHEMA_NOT_COMPATIBLE."
            ),
            how=f"Start the query as it was. To begin with the new columns, {reset_advice(case)}.",
            accepting="Spark decides; it fails in the first batch, at every start",
            follows_from=(change.follows_from,),
        )


def _differs(change: StateChange) -> str:
    if change.how is Differs.IN_NULLABILITY:
        return (
            f"{told(change)} has columns that can be NULL in the query, and not in the "
            f"checkpoint: {listed(change.now)}"
        )
    return (
        f"{told(change)} is {listed(change.before)} in the checkpoint and {listed(change.now)} in "
        "the query"
    )


@rule("HF512", Severity.RISK, Confidence.LIKELY, Effect.ALTERS, Goal.RESET)
def state_column_renamed(case: Case) -> Iterator[Finding]:
    """A column of state has another name, and may mean something else."""
    for change in state_changes(case):
        if change.how is not Differs.IN_NAME or _is_other_function(change):
            continue
        yield state_column_renamed.find(
            what=(
                f"{told(change)} was {listed(change.before)} and is {listed(change.now)} now. "
                "Spark binds by position: the new columns continue with the values of the old "
                "ones."
            ),
            how=(
                "If it is another column, and not a new name for the same one, "
                f"{reset_advice(case)}."
            ),
            follows_from=(change.follows_from,),
        )


def _is_other_function(change: StateChange) -> bool:
    """Return whether the contracts name another function, which is another finding."""
    if change.operator != AGGREGATE or change.follows_from != THE_LAST_CONTRACT:
        return False
    before, now = ([each.partition("(")[0] for each in one] for one in (change.before, change.now))
    return before != now


@rule("HF513", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.ALTERS, Goal.RESET)
def aggregate_changed(case: Case) -> Iterator[Finding]:
    """An aggregation computes another function, on the state of the old one."""
    found = both_contracts(case)
    if found is None or found[0].operators != found[1].operators or not found[0].operator_parts:
        return
    retyped = {each.operator_id for each in state_changes(case) if each.how is Differs.IN_TYPE}
    both = zip(found[0].operator_parts, found[1].operator_parts, strict=True)
    for number, (old, new) in enumerate(both):
        is_compared = found[1].operators[number] == AGGREGATE and number not in retyped
        if not is_compared or old is None or new is None or not _is_other(old, new):
            continue
        yield aggregate_changed.find(
            what=(
                f"Operator {number} ({AGGREGATE}) computed {listed(old)} and computes "
                f"{listed(new)} now. The state has the same types, so Spark starts without a "
                "warning and continues the old state with the new function."
            ),
            how=f"Restore the function, or {reset_advice(case)}.",
            accepting=(
                "Spark continues the old state with the new function: the aggregates of every "
                "group that has state are wrong from the next batch on"
            ),
            follows_from=(THE_LAST_CONTRACT,),
        )


def _is_other(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """Return whether another function is at a position, and not only in another order."""
    before, now = ([each.partition("(")[0] for each in side] for side in (old, new))
    return len(before) == len(now) and before != now and sorted(old) != sorted(new)
