"""Answers of the catalog that are lost, and drivers that were replaced in the middle of a batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from holdfast.ledger import Apply, LedgerRow
from holdfast.spark.iceberg_step import IcebergStep
from holdfast.testing.sink_batches import STREAM
from tests.iceberg.streams import Stream

LANDED, NEVER_ARRIVED = "landed", "never arrived"


def lose_next(monkeypatch: pytest.MonkeyPatch, what: str) -> list[str]:
    """Lose the next commit or its answer; return what tells that it happened."""
    happened: list[str] = []
    commit = IcebergStep.commit

    def lose(self: IcebergStep) -> None:
        if not happened:
            happened.append(what)
            if what == LANDED:
                commit(self)
            raise ConnectionResetError
        commit(self)

    monkeypatch.setattr(IcebergStep, "commit", lose)
    return happened


@pytest.mark.parametrize("keys", [(), ("id",)])
def test_a_batch_whose_answer_is_lost_is_there_once(
    *, spark: Any, table: str, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    options = {"keys": keys, "sequence_by": "name"} if keys else {}
    stream = Stream(spark, table, **options).open(batches=1)
    happened = lose_next(monkeypatch, LANDED)
    assert stream.write(1) == Apply()
    assert happened
    assert stream.write(2) == Apply()
    stream.holds(batches=3)


def test_a_batch_that_never_arrived_is_an_error_and_can_be_written_again(
    spark: Any, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(spark, table).open(batches=1)
    happened = lose_next(monkeypatch, NEVER_ARRIVED)
    assert stream.refusal(1).startswith("ICEBERG_REFUSED")
    assert happened
    stream.holds(batches=1)
    assert stream.write(1) == Apply()
    stream.holds(batches=2)


@pytest.mark.parametrize("what", [LANDED, NEVER_ARRIVED])
def test_a_fence_whose_answer_is_lost_is_taken_once(
    *, spark: Any, table: str, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    stream = Stream(spark, table).open(batches=1)
    row: Any = stream.ledger.read(STREAM)
    happened = lose_next(monkeypatch, what)
    fenced = stream.ledger.fence(row, epoch=2, nonce="n2")
    assert happened
    assert fenced == replace(row, epoch=2, nonce="n2")
    assert stream.ledger.read(STREAM) == fenced


@pytest.mark.parametrize("keys", [(), ("id",)])
def test_a_driver_that_is_replaced_between_its_look_and_its_commit_publishes_nothing(
    *, spark: Any, table: str, monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    options = {"keys": keys, "sequence_by": "name"} if keys else {}
    stream = Stream(spark, table, **options).open(batches=1)
    other = Stream(spark, table, **options)
    commit = IcebergStep.commit
    fenced: list[LedgerRow | None] = []

    def overtaken(self: IcebergStep) -> None:
        monkeypatch.setattr(IcebergStep, "commit", commit)
        row: Any = other.ledger.read(STREAM)
        fenced.append(other.ledger.fence(row, epoch=2, nonce="n2"))
        commit(self)

    monkeypatch.setattr(IcebergStep, "commit", overtaken)
    assert stream.refusal(1) == "EPOCH_FENCED"
    assert fenced[0] is not None
    stream.holds(batches=1)
    assert other.write(1, epoch=2, nonce="n2") == Apply()
    assert stream.refusal(1) == "EPOCH_FENCED"
    stream.holds(batches=2)
