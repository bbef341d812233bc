"""A Delta table that is emptied between a driver's look at the log and its own commit.

The model check found this (`dates_look` in `tests/unit/ledger/closings.py`). Delta has no lock: an
append does not conflict with a TRUNCATE, and the row in it hides the TRUNCATE from then on.
"""

from __future__ import annotations

import json
from dataclasses import replace as replace_row

import pytest
from msgspec.structs import replace

from holdfast.formats.delta_log import commit_path, newest_version
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


def test_a_table_with_the_log_of_another_one_is_not_taken_for_it(table: DeltaTable) -> None:
    written = table.sink().ledger
    written.target = replace(written.target, table_id="t1")
    assert written.replace(None, ROW)
    for table_id, said in (("t1", None), ("t2", "it is another table"), (None, None)):
        found = table.sink().ledger
        found.target = replace(found.target, table_id=table_id)
        row = found.read("readings")
        assert isinstance(row, LedgerRow)
        changed = found.examine(row)
        assert (said or "") in (changed or "")
        assert (changed is None) == (said is None)


def clean_up(table: DeltaTable) -> None:
    """Delete every commit but the newest, as Delta does after a checkpoint."""
    newest = newest_version(table.log)
    assert newest is not None
    for path in [each for each in table.log.files if each != commit_path(newest)]:
        table.log.delete(path)
    table.log.put("_delta_log/_last_checkpoint", json.dumps({"version": newest}).encode())


def replace_by_other(table: DeltaTable, *, commits: int) -> None:
    """Put a table with so many commits in its place."""
    table.before = lambda: None
    table.log.files.clear()
    for _ in range(commits):
        table.put(OPTIMIZED)
    table.table_id = "t2"


def of_a_known_table(table: DeltaTable) -> DeltaWriter:
    """Return a sink that holds batch 0 and knows the id of its table."""
    table.table_id = "t1"
    found = table.sink()
    found.ledger.target = replace(found.ledger.target, table_id="t1")
    assert found.ledger.replace(None, ROW)
    assert found.write(attempt(0), stand_in("a")) == Apply()
    return found


@pytest.mark.parametrize("others", [1, 3])
def test_a_log_that_was_cleaned_up_is_read_on_unless_there_is_a_gap(
    table: DeltaTable, others: int
) -> None:
    sink = of_a_known_table(table)
    for _ in range(others):
        table.put(OPTIMIZED)
    clean_up(table)
    if others == 1:
        assert sink.write(attempt(1), stand_in("b")) == Apply()
        assert sink.write(attempt(2), stand_in("c")) == Apply()
        return
    for _ in range(2):  # it stays so
        with pytest.raises(TableChangedError, match="cleaned up"):
            sink.write(attempt(1), stand_in("b"))
    assert table.rows == ["a"]


@pytest.mark.parametrize("is_cleaned_up", [False, True])
@pytest.mark.parametrize("commits", [1, 2, 4, 5, 12])
def test_another_table_takes_no_batch(
    table: DeltaTable, *, commits: int, is_cleaned_up: bool
) -> None:
    sink = of_a_known_table(table)
    replace_by_other(table, commits=commits)
    if is_cleaned_up:
        clean_up(table)
    with pytest.raises(TableChangedError, match="Batch 1 was not written"):
        sink.write(attempt(1), stand_in("b"))
    assert table.rows == ["a"]


@pytest.mark.parametrize("is_cleaned_up", [False, True])
@pytest.mark.parametrize("commits", [1, 2, 4, 5, 12])
def test_another_table_that_comes_during_a_batch_is_told_from_the_one_that_was_looked_at(
    table: DeltaTable, *, commits: int, is_cleaned_up: bool
) -> None:
    """It has the batch: Delta knows nothing that would keep it out."""
    sink = of_a_known_table(table)

    def swapped() -> None:
        replace_by_other(table, commits=commits)
        if is_cleaned_up:
            clean_up(table)

    table.before = swapped
    with pytest.raises(TableChangedError, match="not certain that batch 1 is in"):
        sink.write(attempt(1), stand_in("b"))
    assert table.rows == ["a", "b"]


@pytest.mark.parametrize("commits", [1, 3, 4, 5, 12])
def test_another_table_that_comes_right_after_a_commit_is_told_too(
    table: DeltaTable, *, commits: int
) -> None:
    """The stream's own table had the batch, and is not there any more."""
    sink = of_a_known_table(table)
    table.after = lambda: replace_by_other(table, commits=commits)
    with pytest.raises(TableChangedError, match="not certain that batch 1 is in"):
        sink.write(attempt(1), stand_in("b"))


def test_a_start_does_not_pass_over_commits_that_were_cleaned_up_during_a_batch(
    table: DeltaTable,
) -> None:
    """One of them has emptied the table."""
    sink = of_a_known_table(table)

    def emptied() -> None:
        table.before = lambda: None
        table.put(EMPTIED)
        table.put(OPTIMIZED)
        clean_up(table)

    table.before = emptied
    assert sink.write(attempt(1), stand_in("b")) == Apply()
    row = sink.ledger.read("readings")
    assert isinstance(row, LedgerRow)
    for each in (sink, table.sink()):
        assert each.ledger.read("readings") == row
        assert "cleaned up" in (each.ledger.examine(row) or "")
    accepted = replace_row(row, epoch=row.epoch + 1)
    starting = table.sink()
    assert starting.ledger.replace(row, accepted)
    for each in (starting, table.sink()):
        assert each.ledger.examine(accepted) is None
