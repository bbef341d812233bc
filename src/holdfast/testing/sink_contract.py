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
from dataclasses import replace

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
)
from holdfast.testing.sink_capabilities import CapabilityContract


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
        """A start may be killed after any of these."""
        for _ in range(2):
            writer = batches.resolve(sink)
            assert ledger_of(writer).read(STREAM) is None
            writer.create()
            writer.create()
            assert ledger_of(writer).read(STREAM) is None
            writer.close()

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
        """A gap, other content, another epoch, another checkpoint."""
        first = batches.attempt(writer, 0)
        assert writer.write(first, batches.frame(FIRST)) == Apply()
        refused = {
            Reason.GAP: batches.attempt(writer, 5),
            Reason.OTHER_CONTENT: replace(first, digest="x"),
            Reason.EPOCH_AHEAD: replace(batches.attempt(writer, 1), epoch=2),
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

    def test_a_row_is_replaced_only_when_it_is_the_expected_one(
        self, writer: SinkWriter, batches: Batches
    ) -> None:
        """Two drivers that settle at once do not both succeed."""
        ledger, row = ledger_of(writer), batches.row(writer)
        new = replace(row, epoch=2, nonce="n2", last_batch=BatchId(4), digest="d", end_offsets="e")
        assert not ledger.replace(None, replace(row, epoch=2, nonce="n2"))
        assert not ledger.replace(replace(row, digest="x"), replace(new, epoch=3))
        stands = ledger.read(STREAM)
        assert isinstance(stands, LedgerRow)
        newest = replace(new, epoch=stands.epoch + 1)
        assert ledger.replace(stands, newest)
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
