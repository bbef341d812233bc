"""What every exactly-once sink must do, as tests: subclass, give fixtures, and pytest runs them.

class TestMySink(SinkContract):
    @pytest.fixture
    def sink(self, tmp_path) -> SinkSpec:
        return MySink(path=str(tmp_path / "data"))

    def rows(self, sink, spark) -> list[tuple]:
        return …  # every row (id, name) that the sink holds

A `spark` fixture must give a session.
"""

from __future__ import annotations

import pickle
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from holdfast.ids import BatchId
from holdfast.ledger import Apply, LedgerRow, Reason, Refuse, Skip
from holdfast.sinks.kinds import find_kinds
from holdfast.sinks.sink import SinkSpec, SinkWriter
from holdfast.testing.sink_batches import (
    BINDING,
    FIRST,
    SECOND,
    STREAM,
    Batches,
    ledger_of,
    row_of,
)
from holdfast.testing.sink_capabilities import CapabilityContract

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HELD_S = 0.5
"""So long a batch is held back before its commit, for a driver that takes over."""


class StoppedWritingError(Exception):
    """Raised by a test in the middle of a write."""


class SinkContract(CapabilityContract):
    """The contract of a sink's three parts: spec, ledger store, writer."""

    def test_a_spec_is_a_value(self, sink: SinkSpec) -> None:
        """It is comparable, hashable, picklable and registered."""
        again = pickle.loads(pickle.dumps(sink))  # noqa: S301 - its own
        assert again == sink
        assert hash(again) == hash(sink)
        assert find_kinds()[sink.kind] is type(sink)
        assert sink.label
        assert sink.place

    def test_resolving_twice_and_creating_twice_is_harmless(
        self, sink: SinkSpec, batches: Batches
    ) -> None:
        """A start may be killed after any of these; the next one keeps what is there."""
        for _ in range(2):
            writer = batches.resolve(sink)
            assert ledger_of(writer).read(STREAM) is None
            writer.create()
            writer.create()
            assert ledger_of(writer).read(STREAM) is None
            writer.close()
        first = batches.start(sink)
        assert ledger_of(first).replace(None, batches.row(first))
        assert first.write(batches.attempt(first, 0), batches.frame(FIRST)) == Apply()
        row = ledger_of(first).read(STREAM)
        first.close()
        again = batches.start(sink)
        again.create()
        assert ledger_of(again).read(STREAM) == row
        again.close()
        self.check_rows(sink, batches.spark, *FIRST)

    def test_batches_arrive_once(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """A batch is applied, and skipped when it comes again; an empty one counts too."""
        spark = batches.spark
        assert writer.write(batches.attempt(writer, 0), batches.frame(FIRST)) == Apply()
        assert writer.write(batches.attempt(writer, 0), batches.frame(FIRST)) == Skip()
        assert writer.write(batches.attempt(writer, 1), batches.frame([])) == Apply()
        assert writer.write(batches.attempt(writer, 2), batches.frame(SECOND)) == Apply()
        self.check_rows(sink, spark, *FIRST, *SECOND)
        row = ledger_of(writer).read(STREAM)
        assert isinstance(row, LedgerRow)
        assert (row.last_batch, row.digest, row.end_offsets) == (2, "d2", "e2")

    def test_what_is_refused_writes_nothing(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """A gap, other content, another epoch, generation or checkpoint, another beginning."""
        first = batches.attempt(writer, 0)
        assert writer.write(first, batches.frame(FIRST)) == Apply()
        refused = {
            Reason.GAP: batches.attempt(writer, 5),
            Reason.OTHER_CONTENT: replace(first, digest="x"),
            Reason.EPOCH_AHEAD: replace(batches.attempt(writer, 1), epoch=2),
            Reason.GENERATION_AHEAD: replace(batches.attempt(writer, 1), generation=2),
            Reason.BROKEN_CHAIN: replace(batches.attempt(writer, 1), start_offsets="x"),
            Reason.OTHER_BINDING: replace(
                batches.attempt(writer, 1), binding=replace(BINDING, checkpoint="elsewhere")
            ),
        }
        for reason, attempt in refused.items():
            assert writer.write(attempt, batches.frame(SECOND)) == Refuse(reason)
        self.check_rows(sink, batches.spark, *FIRST)

    def test_rows_and_ledger_are_one_step(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """What is stopped before its commit leaves neither, and can be written again."""

        def stop(_: int) -> None:
            raise StoppedWritingError

        before = ledger_of(writer).read(STREAM)
        with pytest.raises(StoppedWritingError):
            writer.write(batches.attempt(writer, 0), batches.frame(FIRST), before_commit=stop)
        assert ledger_of(writer).read(STREAM) == before
        assert writer.write(batches.attempt(writer, 0), batches.frame(FIRST)) == Apply()
        self.check_rows(sink, batches.spark, *FIRST)

    def test_a_fence_stops_the_driver_before_it(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """The old driver's batch is refused; the new one goes on where the old one was."""
        assert writer.write(batches.attempt(writer, 0), batches.frame(FIRST)) == Apply()
        other = batches.start(sink)
        row = ledger_of(other).read(STREAM)
        assert isinstance(row, LedgerRow)
        fenced = ledger_of(other).fence(row, epoch=2, nonce="n2")
        assert fenced == replace(row, epoch=2, nonce="n2")
        assert ledger_of(other).fence(row, epoch=2, nonce="again") is None
        assert ledger_of(writer).fence(row, epoch=1, nonce="older") is None
        late = writer.write(batches.attempt(writer, 1), batches.frame(SECOND))
        assert late == Refuse(Reason.EPOCH_FENCED)
        mine = replace(batches.attempt(other, 1), epoch=2, nonce="n2")
        assert other.write(mine, batches.frame(SECOND)) == Apply()
        other.close()
        self.check_rows(sink, batches.spark, *FIRST, *SECOND)

    def test_a_fence_during_a_batch_stops_it_or_comes_after_it(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """Neither overwrites the other: a transaction excludes every other writer of its row.

        A fence that loses against the batch may also return None, and has changed nothing then.
        """
        row = row_of(ledger_of(writer))
        with ThreadPoolExecutor(1) as threads:
            fences: list[Future[LedgerRow | None]] = []

            def take_over(_: int) -> None:
                if not fences:  # a commit can be tried several times
                    fences.append(threads.submit(_fence, sink, row, batches.spark))
                wait(fences, timeout=HELD_S)  # longer when it must wait for this transaction

            with suppress(Exception):  # a store may refuse the commit with an error of its own
                attempt = batches.attempt(writer, 0)
                writer.write(attempt, batches.frame(FIRST), before_commit=take_over)
        assert fences
        found = row_of(ledger_of(writer))
        if fences[0].exception() is None:
            assert found == (fences[0].result() or replace(found, epoch=1, nonce="n1"))
        self.check_rows(sink, batches.spark, *(FIRST if found.last_batch == 0 else ()))

    def test_a_row_is_replaced_only_when_it_is_the_expected_one(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """Of two drivers that have read the same row, only one replaces it."""
        ledger, row = ledger_of(writer), batches.row(writer)
        new = replace(row, epoch=2, nonce="n2", last_batch=BatchId(4), digest="d", end_offsets="e")
        assert not ledger.replace(None, replace(row, epoch=2, nonce="n2"))
        assert not ledger.replace(replace(row, digest="x"), replace(new, epoch=3))
        stands = ledger.read(STREAM)
        assert isinstance(stands, LedgerRow)
        newest = replace(new, epoch=stands.epoch + 1)
        other = batches.start(sink)
        assert ledger_of(other).read(STREAM) == stands
        assert ledger.replace(stands, newest)
        assert not ledger_of(other).replace(stands, replace(newest, nonce="late"))
        other.close()
        assert ledger.read(STREAM) == newest

    def test_the_ledger_can_be_read_without_a_query(
        self, sink: SinkSpec, writer: SinkWriter, batches: Batches
    ) -> None:
        """From the spec alone, and of one stream only."""
        assert writer.write(batches.attempt(writer, 0), batches.frame(FIRST)) == Apply()
        ledger = sink.open_ledger(batches.spark)
        assert ledger is not None
        row = ledger.read(STREAM)
        assert row == ledger_of(writer).read(STREAM)
        assert isinstance(row, LedgerRow)
        assert ledger.examine(row) is None
        assert ledger.read("other") is None
        assert ledger.label(STREAM) == writer.name
        ledger.close()
        assert ledger.read(STREAM) == row
        ledger.close()


def _fence(sink: SinkSpec, row: LedgerRow, spark: SparkSession) -> LedgerRow | None:
    """Be the driver that takes over, in a thread and over a connection of its own."""
    ledger = sink.open_ledger(spark)
    assert ledger is not None
    with closing(ledger):
        ledger.read(STREAM)
        return ledger.fence(row, epoch=2, nonce="n2")
