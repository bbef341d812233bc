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
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from holdfast.ids import BatchId, QueryId
from holdfast.ledger import NO_BATCH, Apply, Attempt, Binding, LedgerRow, Reason, Refuse, Skip
from holdfast.ledger.store import LedgerStore
from holdfast.sinks.kinds import find_kinds, open_ledger, resolve_writer
from holdfast.sinks.sink import SinkSpec, SinkWriter

STREAM = "contract"
SCHEMA = "id bigint, name string"
FIRST = [(1, "a"), (2, None), (3, "ü'\n\t\\"), (3, "ü'\n\t\\")]
SECOND = [(4, "d")]
_BINDING = Binding(query_id=QueryId("6f0c"), checkpoint="s3://lake/streams/contract")


class StoppedWritingError(Exception):
    """Raised by a test in the middle of a write."""


class SinkContract:
    """The contract of a sink's three parts: spec, ledger store, writer."""

    @pytest.fixture
    def sink(self) -> SinkSpec:
        """Return a sink that appends into an empty place, or into one that is not there yet."""
        raise NotImplementedError

    def rows(self, sink: SinkSpec, spark: Any) -> list[tuple[Any, ...]]:
        """Return every row that the sink holds."""
        raise NotImplementedError

    @pytest.fixture
    def batches(self, spark: Any) -> Batches:
        """Return what makes batches."""
        return Batches(spark)

    @pytest.fixture
    def writer(self, sink: SinkSpec, batches: Batches) -> Iterator[SinkWriter]:
        """Return the writer of a start, with a ledger row and no batch."""
        found = batches.start(sink)
        assert ledger_of(found).replace(None, batches.row(found))
        yield found
        found.close()

    def check_rows(self, sink: SinkSpec, spark: Any, *expected: tuple[Any, ...]) -> None:
        """Compare what is there with what must be, as multisets."""
        assert Counter(self.rows(sink, spark)) == Counter(expected)

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
                batches.attempt(writer, 1), binding=replace(_BINDING, checkpoint="elsewhere")
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
        ledger = open_ledger(sink, batches.spark)
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


class Batches:
    """Batches of one stream, and the starts that write them."""

    def __init__(self, spark: Any) -> None:
        """Make frames with a session."""
        self.spark = spark

    def frame(self, rows: list[Any]) -> Any:
        """Return rows as a batch has them."""
        return self.spark.createDataFrame(rows, SCHEMA)

    def resolve(self, sink: SinkSpec) -> SinkWriter:
        """Return the writer of a start that has created nothing yet."""
        return resolve_writer(sink, self.frame([]), stream=STREAM, output_mode="append")

    def start(self, sink: SinkSpec) -> SinkWriter:
        """Return the writer of a start."""
        writer = self.resolve(sink)
        writer.create()
        return writer

    def row(self, writer: SinkWriter) -> LedgerRow:
        """Return the ledger row before the first batch."""
        return LedgerRow(
            stream=STREAM,
            sink=writer.name,
            generation=1,
            epoch=1,
            nonce="n1",
            binding=_BINDING,
            last_batch=NO_BATCH,
            digest=None,
            end_offsets="{}",
        )

    def attempt(self, writer: SinkWriter, number: int) -> Attempt:
        """Return a batch that follows the one before it."""
        return Attempt(
            stream=STREAM,
            sink=writer.name,
            generation=1,
            epoch=1,
            nonce="n1",
            binding=_BINDING,
            batch_id=BatchId(number),
            digest=f"d{number}",
            start_offsets="{}" if number == 0 else f"e{number - 1}",
            end_offsets=f"e{number}",
        )


def ledger_of(writer: SinkWriter) -> LedgerStore:
    """Return the ledger that the sink must have."""
    assert writer.ledger is not None
    return writer.ledger
