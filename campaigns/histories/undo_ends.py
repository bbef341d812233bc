"""The right ends of an undo: rows as they were, or as they are now with their batches counted."""

from __future__ import annotations

import copy

from campaigns.histories.change import Change
from campaigns.histories.machine import OTHER, Machine
from campaigns.histories.model import Expected, StreamAccount, TableAccount, stands_for


def accept_undo(machine: Machine, change: Change, name: str, *, now: StreamAccount) -> None:
    """See which of the right ends of an undo a table has: both lose and repeat nothing."""
    table, actual = machine.tables[name], machine.backend.rows(name)
    if stands_for(change.rows_after(table), actual):
        return
    undone = change.undoes
    assert undone is not None
    before = undone.rows_before.get(name, [])
    if change.may_take_others and stands_for(before, actual) and not _harms(table, before):
        change.effects[name].whole = copy.deepcopy(before)
        return
    if stands_for(table.rows, actual):
        # The rows of batches that came since stay: then these batches must go on to count.
        change.effects[name].kind = "stay"
        for sink, known in zip(machine.main.sinks, now.sinks, strict=True):
            if sink.table == name:
                sink.counted = set(known.counted)
        machine.main.values |= now.values


def _harms(table: TableAccount, after: list[Expected]) -> bool:
    """Return whether rows of another stream would be gone: no word allows that."""
    kept = {row.id for row in after}
    return any(row.id not in kept for row in table.of(OTHER))
