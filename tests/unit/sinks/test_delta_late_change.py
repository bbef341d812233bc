"""A Delta table that is emptied between a driver's look at the log and its own commit.

The model check found this (`dates_look` in `tests/unit/ledger/closings.py`). Delta has no lock: an
append does not conflict with a TRUNCATE, and the row in it hides the TRUNCATE from then on.
"""

from __future__ import annotations

import pytest

from holdfast.ledger import Apply
from holdfast.ledger.row import LedgerRow
from holdfast.sinks.delta.ledger import COMMITS_BEFORE_ANEW
from holdfast.sinks.delta.writer import DeltaWriter
from holdfast.sinks.table_changed import TableChangedError
from tests.stand_ins import stand_in
from tests.unit.sinks.delta_commits import ROW, DeltaTable, attempt, table

__all__ = ["table"]
EMPTIED = {"commitInfo": {"operation": "TRUNCATE"}}
OPTIMIZED = {"commitInfo": {"operation": "OPTIMIZE"}}


@pytest.fixture
def sink(table: DeltaTable) -> DeltaWriter:
    """A sink that holds batch 0."""
    found = table.sink()
    assert found.ledger.replace(None, ROW)
    assert found.write(attempt(0), stand_in("a")) == Apply()
    return found


def empty_before_the_next_commit(table: DeltaTable) -> None:
    def emptied() -> None:
        table.before = lambda: None
        table.put(EMPTIED)

    table.before = emptied


@pytest.mark.parametrize("is_same_driver", [True, False])
def test_a_table_that_is_emptied_during_a_batch_takes_no_more(
    table: DeltaTable, sink: DeltaWriter, *, is_same_driver: bool
) -> None:
    empty_before_the_next_commit(table)
    assert sink.write(attempt(1), stand_in("b")) == Apply(), "it could not know"
    row = sink.ledger.read("readings")
    assert isinstance(row, LedgerRow)
    each = sink if is_same_driver else table.sink()
    assert each.ledger.examine(row) is not None
    with pytest.raises(TableChangedError):
        each.write(attempt(2), stand_in("c"))


def test_a_table_that_is_emptied_before_a_fence_is_still_seen_after_it(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    row = sink.ledger.read("readings")
    assert isinstance(row, LedgerRow)
    for _ in range(COMMITS_BEFORE_ANEW):
        table.put(OPTIMIZED)
    starting = table.sink()
    assert starting.ledger.examine(row) is None
    table.put(EMPTIED)
    fenced = starting.ledger.fence(row, epoch=2, nonce="n2")
    assert fenced is not None
    assert starting.ledger.examine(fenced) is not None


def test_an_older_copy_that_is_put_in_place_during_a_batch_is_noticed(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    """The batch lands in a version that its driver had seen already."""
    kept = dict(table.log.files)
    assert sink.write(attempt(1), stand_in("b")) == Apply()
    assert sink.write(attempt(2), stand_in("c")) == Apply()

    def put_back() -> None:
        table.before = lambda: None
        table.log.files.clear()
        table.log.files.update(kept)

    table.before = put_back
    with pytest.raises(TableChangedError):
        sink.write(attempt(3), stand_in("d"))
    starting = table.sink()
    row = starting.ledger.read("readings")
    assert isinstance(row, LedgerRow)
    assert "older copy" in (starting.ledger.examine(row) or "")
