"""What rules about a changed query share: the two contracts, and how a change of state is told."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import (
    THE_LAST_CONTRACT,
    known_state,
    pinned_settings,
    required_before,
)
from holdfast.evidence.state_columns import Differs, StateChange, compare_names, find_changes
from holdfast.record.contracts import Contract

AGGREGATE = "stateStoreSave"
"""What Spark calls an aggregation."""
DEDUPLICATING = ("dedupe", "dedupeWithinWatermark")
"""What Spark calls operators that drop duplicates."""


def both_contracts(case: Case) -> tuple[Contract, Contract] | None:
    """Return the contracts of the last run and of the query to start; None unless both are known.

    A checkpoint without a batch takes any query: then there is nothing to compare either.
    """
    query = case.query
    if query is None or query.before is None or case.newest_planned < 0:
        return None
    return query.before, query.now


def ignored_settings(case: Case) -> dict[str, tuple[str, str]]:
    """Return settings of the session that Spark replaces by the checkpoint's: (here, pinned)."""
    if case.query is None:
        return {}
    now, pinned = case.query.now.settings, pinned_settings(case.checkpoint)
    return {
        name: (now[name], value)
        for name, value in sorted(pinned.items())
        if name in now and now[name] != value
    }


def state_changes(case: Case) -> tuple[StateChange, ...]:
    """Return how the columns of state differ, by the checkpoint and by the contract."""
    query = case.query
    if query is None or case.newest_planned < 0:
        return ()
    names = query.now.operators
    columns = tuple(find_changes(case.checkpoint, known_state(query, case.checkpoint), names))
    retyped = {each.operator_id for each in columns if each.how is Differs.IN_TYPE}
    parts = (each for each in _changed_parts(case) if each.operator_id not in retyped)
    known = _operators_with_parts(case)
    told = (each for each in columns if not _is_less(each, known) and _is_of_code(case, each))
    return (*told, *parts)


def _is_of_code(case: Case, change: StateChange) -> bool:
    """Return whether code made a column nullable that was not, as far as contracts tell.

    A plan made before the first batch can differ from that of a batch in this, for sources that
    say less before they are read. So two plans of the same kind are compared.
    """
    if change.how is not Differs.IN_NULLABILITY:
        return True
    required = required_before(case.query, change.operator_id)
    return required is not None and bool(required.intersection(change.places))


def _is_less(change: StateChange, known: set[int]) -> bool:
    """Return whether names in the checkpoint say less than the contract: of sums, all are `sum`."""
    is_value = change.operator == AGGREGATE and change.part == "value"
    is_named = change.how in (Differs.IN_ORDER, Differs.IN_NAME)
    return is_value and is_named and change.operator_id in known


def _operators_with_parts(case: Case) -> set[int]:
    found = both_contracts(case)
    if found is None or found[0].operators != found[1].operators:
        return set()
    both = zip(found[0].operator_parts, found[1].operator_parts, strict=False)
    return {number for number, pair in enumerate(both) if None not in pair}


def _changed_parts(case: Case) -> Iterator[StateChange]:
    found = both_contracts(case)
    if found is None or found[0].operators != found[1].operators:
        return
    before, now = found
    if not before.operator_parts:
        return
    for number, (old, new) in enumerate(
        zip(before.operator_parts, now.operator_parts, strict=True)
    ):
        how = None if old is None or new is None else compare_names(old, new)
        if how is not None and old is not None and new is not None and len(old) == len(new):
            yield StateChange(
                operator_id=number,
                operator=now.operators[number],
                part="value" if now.operators[number] == AGGREGATE else "key",
                how=how,
                before=old,
                now=new,
                follows_from=THE_LAST_CONTRACT,
            )


def told(change: StateChange) -> str:
    """Return where a change is: `The state key of operator 0 (dedupe)`."""
    return f"The state {change.part} of operator {change.operator_id} ({change.operator})"


def listed(columns: tuple[str, ...]) -> str:
    """Return columns as people read them."""
    return f"({', '.join(columns)})"
