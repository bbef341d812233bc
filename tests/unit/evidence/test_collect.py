"""The evidence of a stream: its ledgers, its checkpoint near the batch they tell of, its record."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence import Query, Refuses, Unknown
from holdfast.evidence.collect import (
    LedgerLook,
    Row,
    StreamPlaces,
    collect,
    collect_again,
    collect_near,
    collect_stream,
)
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.coverage import Coverage, read_coverage
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.ledger.store import LedgerStore, Unreadable
from holdfast.record.generations import ADOPTED, OPENED, Generation
from holdfast.storage.memory import MemoryStorage
from tests.unit.checkpoint.archives import open_archive
from tests.unit.checkpoint.counted import Counted
from tests.unit.evidence.damaged import damaged, remove

COUNTS = "4.2-aggregation"
QUERY_ID = "00000000-0000-4000-8000-00000000000a"


def row(last_batch: int) -> LedgerRow:
    return LedgerRow(
        stream="readings",
        sink="public.readings",
        generation=1,
        epoch=1,
        nonce="",
        binding=Binding(query_id=QueryId(QUERY_ID), checkpoint="memory://memory"),
        last_batch=BatchId(last_batch),
        digest="d",
        end_offsets="{}",
    )


class OneRow(LedgerStore):
    """A ledger that says the same of every stream."""

    def __init__(self, row: Row) -> None:
        self._row = row

    def label(self, stream: str) -> str:
        return stream

    def read(self, stream: str) -> Row:
        del stream
        return self._row

    def examine(self, row: LedgerRow) -> str | None:
        return f"batch {row.last_batch} is not there"

    def find_native(self, query_id: str) -> int | None:
        del query_id
        return 4

    def last_epoch(self, stream: str) -> int:
        return len(stream)

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        raise NotImplementedError

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError


def ledger(row: Row) -> LedgerLook:
    return LedgerLook(
        sink="public.readings",
        display_name="the PostgreSQL table public.readings",
        store=OneRow(row),
        is_added=lambda: True,
    )


def places(storage: MemoryStorage, *rows: Row, why: str = OPENED) -> StreamPlaces:
    return StreamPlaces(
        stream="readings",
        generation=Generation(
            number=1,
            checkpoint="memory://memory",
            query_id=QUERY_ID,
            first_batch=0,
            why=why,
            opened_at="2026-01-01T00:00:00+00:00",
        ),
        checkpoint=storage,
        ledgers=tuple(map(ledger, rows)),
        query=Query(sources=1, operators=("stateStoreSave",)),
        spark=(4, 2),
    )


def test_the_checkpoint_is_read_near_the_newest_batch_of_the_ledgers() -> None:
    found = collect_stream(places(damaged(COUNTS), row(4), row(5)))
    assert list(found.checkpoint.offsets) == [4, 5]
    assert found.not_looked_at == ("log entries before batch 4: a start does not need them",)
    assert [sink.row for sink in found.sinks] == [row(4), row(5)]
    assert found.sinks[0].contradicts == "batch 4 is not there"


def test_what_a_row_that_is_far_behind_holds_is_read_all_the_same() -> None:
    storage = damaged(COUNTS)
    found = collect_stream(places(storage, row(2), row(5)))
    assert 2 not in found.checkpoint.offsets
    assert found.sinks[0].held == read_coverage(storage, BatchId(2))
    assert isinstance(found.sinks[0].held, Coverage)


@pytest.mark.parametrize("last_batch", [-1, 9])
def test_a_row_of_a_batch_without_an_entry_has_nothing_to_be_held_against(last_batch: int) -> None:
    found = collect_stream(places(damaged(COUNTS), row(last_batch)))
    assert found.sinks[0].held is None


def test_a_ledger_that_cannot_be_read_is_no_ledger_without_a_row() -> None:
    away = Unreadable("the server does not answer")
    found = collect_stream(places(damaged(COUNTS), away))
    (sink,) = found.sinks
    assert (sink.row, sink.unreadable, sink.is_added) == (None, away, False)
    assert (
        found.not_looked_at[-1]
        == "the ledger of the PostgreSQL table public.readings: the server does not answer"
    )


def test_without_a_row_the_native_writer_is_asked_only_when_it_is_adopted() -> None:
    adopted = collect_stream(places(damaged(COUNTS), None, why=ADOPTED)).sinks[0]
    opened = collect_stream(places(damaged(COUNTS), None)).sinks[0]
    assert (adopted.native_batch, opened.native_batch) == (4, None)
    assert opened.is_added


def test_a_checkpoint_without_metadata_has_that_of_its_generation() -> None:
    found = collect_stream(places(MemoryStorage(), None))
    assert found.binding.query_id == QUERY_ID
    adopted = collect_stream(places(MemoryStorage(), None, why=ADOPTED))
    assert adopted.binding.query_id == ""


def test_what_spark_will_say_of_the_query_is_found() -> None:
    changed = replace(places(damaged(COUNTS), row(5)), query=Query(sources=2, operators=()))
    assert collect_stream(changed).query_refused is not None
    assert collect_stream(places(damaged(COUNTS), row(5))).query_refused is None


def test_what_another_driver_did_since_is_collected_again() -> None:
    storage = damaged(COUNTS, remove("commits/5"))
    before = collect_stream(places(storage, row(5)))
    storage.files["commits/5"] = open_archive(COUNTS).checkpoint.files["commits/5"]
    again = collect_again(places(storage, row(5)), before)
    assert (before.newest_committed, again.newest_committed) == (4, 5)
    assert again.stores == before.stores


def test_state_that_was_not_looked_at_is_unknown_and_not_fine() -> None:
    many = b'"spark.sql.shuffle.partitions":"200"'
    files = {
        path: raw.replace(b'"spark.sql.shuffle.partitions":"2"', many)
        for path, raw in damaged(COUNTS).files.items()
    }
    found = collect_near(MemoryStorage(files), BatchId(5))
    why = "it has 200 partitions, and a start looks at no more than 8"
    assert found.not_looked_at[-1] == f"state/: {why}"
    predicted = found.next_start()
    assert isinstance(predicted, Unknown)
    assert predicted.because == f"state/ was not checked, and batch 6 needs it: {why}"
    assert isinstance(collect(MemoryStorage(files)).next_start(), Refuses)


def test_a_batch_whose_entry_cannot_be_read_is_held_against_nothing_that_is_known() -> None:
    storage = damaged(COUNTS)
    storage.files["offsets/4"] = b""
    found = collect_stream(places(storage, row(5)))
    assert isinstance(found.sinks[0].held, Unparsed)


def test_a_file_that_two_looks_need_is_asked_for_once() -> None:
    kafka = open_archive("4.2-kafka").checkpoint.files
    alone, whole = Counted(kafka), Counted(kafka)
    collect_near(alone, BatchId(6))
    query = Query(sources=1, operators=())
    found = collect_stream(replace(places(whole, row(6)), query=query))
    assert isinstance(found.sinks[0].held, Coverage)
    assert whole.requests == alone.requests == 8
    whole.requests = 0
    collect_again(replace(places(whole, row(6)), query=query), found)
    assert whole.requests == 6


def test_the_look_after_the_fence_reads_only_what_is_not_as_it_was_listed() -> None:
    whole = Counted(open_archive("4.2-kafka").checkpoint.files)
    asked = replace(places(whole, row(6)), query=Query(sources=1, operators=()))
    before = collect_stream(asked)
    whole.requests = 0
    assert collect_again(asked, before) == before
    assert whole.requests == 3  # the pages
    changed = whole.files["offsets/6"].replace(b'"0":', b'"00":')
    assert changed != whole.files["offsets/6"]
    whole.files["offsets/6"] = changed
    whole.requests = 0
    again = collect_again(asked, before)
    assert again.checkpoint.offsets[BatchId(6)] != before.checkpoint.offsets[BatchId(6)]
    assert whole.requests == 4
