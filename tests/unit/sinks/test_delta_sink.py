"""What `hf.Delta` commits, in which order, and what it makes of the log afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from pyspark.errors import PySparkException

from holdfast import points
from holdfast.errors import ConfigError
from holdfast.formats.delta_log import NATIVE_FENCE
from holdfast.ids import BatchId
from holdfast.ledger import Apply, LedgerRow, Reason, Refuse, Skip, advance
from holdfast.sinks.delta.commit import Identity
from holdfast.sinks.delta.commit_notes import encode_fence, encode_row
from holdfast.sinks.delta.failures import CommitSkippedError
from holdfast.sinks.delta.ledger import COMMITS_BEFORE_ANEW
from holdfast.sinks.delta.log_ledger import transaction_version
from holdfast.sinks.delta.sink import Delta
from holdfast.sinks.delta.writer import TRIES, DeltaWriter
from holdfast.sinks.table_changed import TableChangedError
from tests.unit.sinks.delta_commits import ROW, A, B, DeltaTable, attempt, table

__all__ = ["table"]
APP = "holdfast/readings/gold"
BY_HAND = {"commitInfo": {"operation": "OPTIMIZE"}}
EMPTIED = {"commitInfo": {"operation": "TRUNCATE"}}
FENCED = replace(ROW, epoch=2, nonce="n2")


@pytest.fixture
def sink(table: DeltaTable) -> DeltaWriter:
    """A sink whose stream was opened and has brought nothing."""
    found = table.sink()
    assert found.ledger.replace(None, ROW)
    return found


@pytest.fixture
def reached() -> Iterator[list[str]]:
    found: list[str] = []
    points.listen(found.append)
    yield found
    points.listen(None)


def fail(message: str) -> Callable[[], None]:
    def failing() -> None:
        raise PySparkException(message)

    return failing


def failing_once(message: str, table: DeltaTable) -> Callable[[], None]:
    def failing() -> None:
        table.before = lambda: None
        raise PySparkException(message)

    return failing


def test_a_row_is_put_behind_a_fence_and_names_it(table: DeltaTable) -> None:
    assert table.sink().ledger.replace(None, ROW)
    notes = (encode_fence(epoch=1, nonce="n1"), encode_row(ROW, fenced_at=1, seen=1))
    assert table.committed == [
        Identity(app=APP, version=transaction_version(1, 1, slot), note=note)
        for slot, note in enumerate(notes)
    ]
    assert table.rows == []
    assert table.sink().ledger.read("readings") == ROW


def test_a_batch_is_committed_with_the_row_that_follows_from_it(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    assert sink.write(attempt(0), A) == Apply()
    assert sink.write(attempt(1), B) == Apply()
    row = advance(advance(ROW, attempt(0)), attempt(1))
    assert table.committed[-1] == Identity(
        app=APP, version=transaction_version(1, 1, 3), note=encode_row(row, fenced_at=1, seen=3)
    )
    assert (sink.ledger.read("readings"), table.rows) == (row, ["a", "b"])


def test_a_batch_that_is_there_is_skipped_and_one_that_is_refused_is_not_written(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    assert sink.write(attempt(0), A) == Apply()
    for each in (sink, table.sink()):
        assert each.write(attempt(0), A) == Skip()
        assert each.write(attempt(0, digest="x"), B) == Refuse(Reason.OTHER_CONTENT)
        assert each.write(attempt(5), B) == Refuse(Reason.GAP)
    assert table.rows == ["a"]


def test_without_a_row_nothing_is_written(table: DeltaTable) -> None:
    assert table.sink().write(attempt(0), A) == Refuse(Reason.NO_ROW)
    table.log.files.clear()
    assert table.sink().write(attempt(0), A) == Refuse(Reason.NO_ROW)
    assert table.sink().ledger.read("readings") is None
    assert table.committed == []


@pytest.mark.parametrize(("keys", "how"), [((), "append"), (("id",), "merge")])
def test_rows_with_keys_are_merged_and_others_appended(
    table: DeltaTable, *, keys: tuple[str, ...], how: str
) -> None:
    sink = table.sink(keys=keys)
    assert sink.ledger.replace(None, ROW)
    assert sink.write(attempt(0), A) == Apply()
    assert table.how == ["append", "append", how]


def test_the_points_are_passed_in_their_order(
    table: DeltaTable, sink: DeltaWriter, reached: list[str]
) -> None:
    table.before = lambda: reached.append("commit")
    sink.write(attempt(0), A, before_commit=lambda rows: reached.append(f"before {rows}"))
    assert reached == ["S2", "S3", "before 0", "commit", "S6"]
    reached.clear()
    sink.ledger.fence(ROW, epoch=2, nonce="n2")
    assert reached == ["commit", "fenced"]


def test_what_must_not_be_committed_is_not(table: DeltaTable, sink: DeltaWriter) -> None:
    def refuse(_: int) -> None:
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        sink.write(attempt(0), A, before_commit=refuse)
    assert table.rows == []


def test_a_fence_lets_only_its_epoch_write(table: DeltaTable, sink: DeltaWriter) -> None:
    other = table.sink()
    assert other.ledger.fence(ROW, epoch=2, nonce="n2") == FENCED
    assert table.committed[-1].note == encode_fence(epoch=2, nonce="n2")
    assert sink.write(attempt(0), A) == Refuse(Reason.EPOCH_FENCED)
    assert other.write(attempt(0, epoch=2, nonce="n2"), A) == Apply()
    row = advance(FENCED, attempt(0))
    assert table.committed[-1].note == encode_row(row, fenced_at=3, seen=3)
    assert table.rows == ["a"]


def test_a_fence_is_taken_only_from_a_lower_epoch_and_the_same_checkpoint(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    before = len(table.committed)
    assert sink.ledger.fence(ROW, epoch=1, nonce="other") is None
    assert sink.ledger.fence(ROW, epoch=0, nonce="n0") is None
    elsewhere = replace(ROW, binding=replace(ROW.binding, checkpoint="s3://lake/copy"))
    assert sink.ledger.fence(elsewhere, epoch=2, nonce="n2") is None
    assert sink.ledger.fence(replace(ROW, stream="other"), epoch=2, nonce="n2") is None
    assert len(table.committed) == before


def test_one_of_two_fences_with_the_same_epoch_wins(table: DeltaTable, sink: DeltaWriter) -> None:
    """Both have looked before either has committed."""

    def other_is_faster() -> None:
        table.before = lambda: None
        assert table.sink().ledger.fence(ROW, epoch=2, nonce="faster") is not None

    table.before = other_is_faster
    assert sink.ledger.fence(ROW, epoch=2, nonce="slower") is None
    assert sink.ledger.read("readings") == replace(ROW, epoch=2, nonce="faster")


@pytest.mark.parametrize("others", [COMMITS_BEFORE_ANEW - 1, COMMITS_BEFORE_ANEW])
def test_a_row_that_is_many_commits_old_is_written_anew_by_the_fence(
    table: DeltaTable, sink: DeltaWriter, others: int
) -> None:
    for _ in range(others):
        table.put(BY_HAND)
    before = len(table.committed)
    assert sink.ledger.fence(ROW, epoch=2, nonce="n2") == FENCED
    new = [each.note for each in table.committed[before:]]
    fence = encode_fence(epoch=2, nonce="n2")
    anew = encode_row(FENCED, fenced_at=others + 3, seen=others + 3)
    assert new == ([fence] if others < COMMITS_BEFORE_ANEW else [fence, anew])
    assert sink.write(attempt(0, epoch=2, nonce="n2"), A) == Apply()


def test_a_fence_whose_row_anew_was_left_out_is_not_taken(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    for _ in range(COMMITS_BEFORE_ANEW):
        table.put(BY_HAND)

    def overtake() -> None:
        table.before = lambda: None
        assert table.sink().ledger.fence(ROW, epoch=3, nonce="n3") is not None

    def after_the_fence() -> None:
        table.before = overtake

    table.before = after_the_fence
    assert sink.ledger.fence(ROW, epoch=2, nonce="n2") is None
    assert sink.ledger.read("readings") == replace(ROW, epoch=3, nonce="n3")


def test_a_row_is_replaced_only_when_it_is_the_expected_one(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    new = replace(FENCED, epoch=3, nonce="n3", last_batch=BatchId(4), digest="d", end_offsets="e")
    assert not table.sink().ledger.replace(None, replace(ROW, epoch=2, nonce="n2"))
    assert not table.sink().ledger.replace(replace(ROW, digest="x"), new)
    newer = replace(new, epoch=4, nonce="n4")
    assert table.sink().ledger.replace(ROW, newer)
    assert sink.ledger.read("readings") == newer
    assert not table.sink().ledger.replace(newer, newer), "its epoch has written already"


def test_a_row_of_a_later_generation_takes_the_place_of_an_earlier_one(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    new = replace(ROW, generation=2, epoch=1, nonce="g2")
    assert sink.ledger.replace(ROW, new)
    assert sink.ledger.read("readings") == new
    assert [each.version for each in table.committed[-2:]] == [
        transaction_version(2, 1, 0),
        transaction_version(2, 1, 1),
    ]


def test_an_error_of_our_own_application_says_that_the_fence_was_not_taken(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    table.before = fail("[DELTA_CONCURRENT_TRANSACTION] ...")
    assert sink.ledger.fence(ROW, epoch=2, nonce="n2") is None
    table.before = fail("[DELTA_CONCURRENT_APPEND] ...")
    with pytest.raises(PySparkException, match="CONCURRENT_APPEND"):
        sink.ledger.fence(ROW, epoch=2, nonce="n2")


def test_a_driver_that_decided_and_slept_is_told_who_replaced_it(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    def take_over(_: int) -> None:
        assert table.sink().ledger.fence(ROW, epoch=2, nonce="n2") is not None

    answer = sink.write(attempt(0), A, before_commit=take_over)
    assert answer == Refuse(Reason.EPOCH_FENCED)
    assert table.rows == []


def test_a_batch_that_another_of_the_same_epoch_brought_is_not_duplicated(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    def bring(_: int) -> None:
        assert table.sink().write(attempt(0), A) == Apply()

    # Its commit is left out, and what is there is the same batch: its note is ours too.
    assert sink.write(attempt(0), B, before_commit=bring) == Apply()
    assert table.rows == ["a"]


def test_a_commit_that_is_left_out_without_a_trace_is_an_error(
    table: DeltaTable, sink: DeltaWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "commit", lambda *_: None)
    with pytest.raises(CommitSkippedError):
        sink.write(attempt(0), A)


def test_a_table_that_is_gone_after_the_fence_takes_no_row(table: DeltaTable) -> None:
    table.after = table.log.files.clear
    assert not table.sink().ledger.replace(None, ROW)


def test_an_error_after_the_commit_is_recognised(table: DeltaTable, sink: DeltaWriter) -> None:
    table.after = fail("the answer was lost")
    assert sink.write(attempt(0), A) == Apply()
    assert table.rows == ["a"]


def test_an_error_before_the_commit_is_raised(table: DeltaTable, sink: DeltaWriter) -> None:
    table.before = failing_once("no space", table)
    with pytest.raises(PySparkException, match="no space"):
        sink.write(attempt(0), A)
    assert table.rows == []


def test_a_conflict_with_another_writer_is_tried_again_and_not_for_ever(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    table.before = failing_once("[DELTA_CONCURRENT_APPEND] ...", table)
    assert sink.write(attempt(0), A) == Apply()
    tries = len(table.how)
    table.before = fail("[DELTA_CONCURRENT_APPEND] ...")
    with pytest.raises(PySparkException, match="CONCURRENT_APPEND"):
        sink.write(attempt(1), B)
    assert len(table.how) - tries == TRIES
    assert table.rows == ["a"]


def test_who_is_fenced_while_it_tries_does_not_try_again(
    table: DeltaTable, sink: DeltaWriter
) -> None:
    def take_over() -> None:
        table.before = lambda: None
        assert table.sink().ledger.fence(ROW, epoch=2, nonce="n2") is not None
        raise PySparkException("[DELTA_CONCURRENT_TRANSACTION] ...")

    table.before = take_over
    tries = len(table.how)
    assert sink.write(attempt(0), A) == Refuse(Reason.EPOCH_FENCED)
    assert len(table.how) - tries == 2, "its own, and the other's fence"


def test_a_table_that_was_emptied_takes_no_more(table: DeltaTable, sink: DeltaWriter) -> None:
    assert sink.ledger.examine(ROW) is None
    table.put(EMPTIED)
    for each in (sink, table.sink()):
        said = each.ledger.examine(ROW)
        assert said == "version 3 of it (TRUNCATE) took out what was there"
        with pytest.raises(TableChangedError, match="version 3"):
            each.write(attempt(0), A)
    assert table.rows == []


def test_a_fence_that_was_replaced_takes_no_more(table: DeltaTable, sink: DeltaWriter) -> None:
    line = {"commitInfo": {"operation": "WRITE"}}
    table.log.put(f"_delta_log/{1:020}.json", json.dumps(line).encode())
    for each in (sink, table.sink()):
        said = each.ledger.examine(ROW)
        assert said == "version 1 of its log was replaced: a batch may be in it twice"
        with pytest.raises(TableChangedError, match="twice"):
            each.write(attempt(0), A)


def test_a_table_that_is_gone_does_not_hold_what_its_row_says(table: DeltaTable) -> None:
    table.log.files.clear()
    assert table.sink().ledger.examine(ROW) == "it was deleted, or replaced by another table"


def test_a_native_writer_is_found_and_fenced(table: DeltaTable, sink: DeltaWriter) -> None:
    assert sink.ledger.find_native("6f0c") is None
    table.put({"txn": {"appId": "6f0c", "version": 7}})
    assert sink.ledger.find_native("6f0c") == 7
    sink.ledger.fence_native("6f0c")
    note = json.dumps({"holdfast": "replaced", "query_id": "6f0c"})
    assert table.committed[-1] == Identity(app="6f0c", version=NATIVE_FENCE, note=note)
    assert table.rows == []
    assert sink.ledger.find_native("6f0c") == 7


def test_two_streams_of_one_table_do_not_meet(sink: DeltaWriter) -> None:
    other = replace(ROW, stream="other", epoch=5, nonce="n5")
    assert sink.ledger.replace(None, other)
    assert (sink.ledger.read("readings"), sink.ledger.read("other")) == (ROW, other)
    assert sink.write(attempt(0), A) == Apply()
    assert sink.ledger.read("other") == other


def test_what_was_read_is_kept_until_it_is_closed(sink: DeltaWriter) -> None:
    ledger = sink.ledger._ledgers["readings"]
    sink.ledger.read("readings")
    assert sink.ledger._ledgers["readings"] is ledger
    sink.close()
    assert sink.ledger.read("readings") == ROW
    assert sink.ledger._ledgers["readings"] is not ledger


def test_a_sink_is_named_by_its_path_or_table() -> None:
    assert Delta(path="s3://lake/gold/").label == "gold"
    assert Delta(path="BOX//").label == "BOX"
    assert Delta(table="lake.gold").label == "lake.gold"
    assert Delta(path="s3://lake/gold", name="mine").label == "mine"
    assert Delta(path="s3://lake/gold").place == "s3://lake/gold"
    assert Delta(table="lake.gold").place == "lake.gold"
    assert Delta(path="s3://lake/gold").display_name == "the Delta table s3://lake/gold"
    assert Delta(table="lake.gold").display_name == "the Delta table lake.gold"
    for given in ({}, {"path": "a", "table": "b"}):
        with pytest.raises(ConfigError):
            Delta(**given)
    with pytest.raises(ConfigError):
        Delta(path="a", sequence_by="at")


@pytest.mark.usefixtures("sink")
def test_the_version_before_a_row_has_what_others_added_up_to_then(table: DeltaTable) -> None:
    def put(row: LedgerRow) -> int:
        return table.put({"commitInfo": {"userMetadata": encode_row(row, fenced_at=1, seen=1)}})

    def before(generation: int, batch: int) -> str | None:
        ledger = table.sink().ledger
        return ledger.version_before("readings", generation=generation, batch=batch)

    later = replace(ROW, generation=2)
    added = table.put(BY_HAND)
    assert put(later) == added + 1
    assert put(later) == added + 2  # the same row, committed again
    put(replace(later, last_batch=BatchId(ROW.last_batch + 1)))
    assert before(2, ROW.last_batch) == str(added)
    assert before(2, ROW.last_batch + 7) is None
    assert before(1, ROW.last_batch) is None  # nothing of the stream is older
