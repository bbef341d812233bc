"""What the contract of sinks writes: batches of one stream, and the starts that write them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from holdfast.ids import BatchId, QueryId
from holdfast.ledger import NO_BATCH, Apply, Attempt, Binding, LedgerRow
from holdfast.ledger.output import COPY
from holdfast.ledger.store import LedgerStore
from holdfast.sinks.sink import SinkSpec, SinkWriter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


STREAM = "contract"
SCHEMA = "id bigint, name string"
FIRST = [(1, "a"), (2, None), (3, "ü'\n\t\\"), (3, "ü'\n\t\\")]
SECOND = [(4, "d")]
THREE = [*FIRST, *SECOND]
"""Of three batches, one of them without rows."""
BINDING = Binding(query_id=QueryId("6f0c"), checkpoint="s3://lake/streams/contract")


class SinkFixtures:
    """What the subclass of a test gives, and what is made of it."""

    @pytest.fixture
    def sink(self) -> SinkSpec:
        """Return a sink that appends into an empty place, or into one that is not there yet."""
        raise NotImplementedError

    def rows(self, sink: SinkSpec, spark: SparkSession) -> list[tuple[Any, ...]]:
        """Return every row that the sink holds."""
        raise NotImplementedError

    @pytest.fixture
    def batches(self, spark: SparkSession) -> Batches:
        """Return what makes batches."""
        return Batches(spark)

    @pytest.fixture
    def writer(self, sink: SinkSpec, batches: Batches) -> Iterator[SinkWriter]:
        """Return the writer of a start, with a ledger row and no batch."""
        found = batches.start(sink)
        assert ledger_of(found).replace(None, batches.row(found))
        yield found
        found.close()

    def check_rows(self, sink: SinkSpec, spark: SparkSession, *expected: tuple[Any, ...]) -> None:
        """Compare what is there with what must be, as multisets."""
        assert Counter(self.rows(sink, spark)) == Counter(expected)

    def write_three(self, writer: SinkWriter, batches: Batches) -> LedgerRow:
        """Write three batches, the second without rows; return the ledger row after them."""
        given: tuple[list[Any], ...] = (FIRST, [], SECOND)
        for number, rows in enumerate(given):
            assert writer.write(batches.attempt(writer, number), batches.frame(rows)) == Apply()
        return row_of(ledger_of(writer))


class Batches:
    """Batches of one stream, and the starts that write them."""

    def __init__(self, spark: SparkSession) -> None:
        """Make frames with a session."""
        self.spark = spark

    def frame(self, rows: list[Any]) -> DataFrame:
        """Return rows as a batch has them."""
        return self.spark.createDataFrame(rows, SCHEMA)

    def resolve(self, sink: SinkSpec, *, stream: str = STREAM) -> SinkWriter:
        """Return the writer of a start that has created nothing yet."""
        return sink.writer_for(self.frame([]), stream=stream, output_mode="append")

    def start(self, sink: SinkSpec, *, stream: str = STREAM) -> SinkWriter:
        """Return the writer of a start."""
        writer = self.resolve(sink, stream=stream)
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
            binding=BINDING,
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
            binding=BINDING,
            batch_id=BatchId(number),
            digest=f"d{number}",
            start_offsets="{}" if number == 0 else f"e{number - 1}",
            end_offsets=f"e{number}",
        )


def ledger_of(writer: SinkWriter) -> LedgerStore:
    """Return the ledger that the sink must have."""
    assert writer.ledger is not None
    return writer.ledger


def row_of(ledger: LedgerStore) -> LedgerRow:
    """Return the ledger row that must be there."""
    found = ledger.read(STREAM)
    assert isinstance(found, LedgerRow)
    return found


def opening(before: LedgerRow, *, epoch: int) -> LedgerRow:
    """Return the row of the next generation, which begins anew."""
    return replace(
        before,
        generation=before.generation + 1,
        epoch=epoch,
        nonce=f"n{epoch}",
        last_batch=NO_BATCH,
        digest=None,
        end_offsets="{}",
    )


def kept_name(ledger: LedgerStore, number: int) -> str:
    """Return where rows are kept that are taken away: a copy, or the version that has them."""
    version = ledger.table_version(STREAM) if ledger.keeps_versions else None
    return version or f"{COPY}contract_{number}"
