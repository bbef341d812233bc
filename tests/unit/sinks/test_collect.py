"""A batch on its way from Spark: whole only when Spark says so, and never more than may wait."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from holdfast.sinks import collect
from holdfast.sinks.collect import (
    MAX_RESULT_SIZE,
    IncompleteBatchError,
    TooLargeError,
    _Stream,
)
from holdfast.sinks.spill import Spilled


class Job:
    """A job of Spark, which sends this and then ends well, or fails."""

    def __init__(self, *sent: Any, cut: Exception | None = None, fails: str = "") -> None:
        self.sent = list(sent)
        self._cut = cut
        self._fails = fails

    def messages(self) -> Iterator[Any]:
        yield from self.sent
        if self._cut is not None:
            raise self._cut

    def wait(self) -> None:
        if self._fails:
            raise PySparkException(self._fails)


def record_batch(nbytes: int = 10) -> Any:
    return SimpleNamespace(nbytes=nbytes)


def stream(*sent: Any, budget: int = 100, **how: Any) -> _Stream:
    job: Any = Job(*sent, **how)
    return _Stream(job, budget)


def come(found: _Stream) -> list[Any]:
    kinds = []
    while (each := found.arrived.get()) is not None:
        kinds.append(each)
    assert found.arrived.empty()
    return kinds


def test_everything_is_taken_and_then_nothing_more() -> None:
    sent = [record_batch(), record_batch(), [0, 1]]
    found = stream(*sent)
    found.read()
    assert come(found) == sent


@pytest.mark.parametrize(("budget", "is_too_much"), [(20, False), (19, True)])
def test_more_than_may_wait_is_not_taken(*, budget: int, is_too_much: bool) -> None:
    found = stream(record_batch(), record_batch(), [0, 1], budget=budget)
    found.read()
    arrived = come(found)
    assert len(arrived) == (2 if is_too_much else 3)
    assert isinstance(arrived[-1], TooLargeError) == is_too_much


def real_batch(number: int) -> Any:
    return pa.record_batch([pa.array([number, None]), pa.array(["a", f"text {number}"])], "ab")


@pytest.mark.parametrize("held", [0, 1, 2, 100])
def test_what_memory_should_not_hold_waits_in_a_file(
    held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = [real_batch(number) for number in range(3)]
    monkeypatch.setattr(collect, "IN_MEMORY_BYTES", held * sent[0].nbytes)
    found = stream(*sent, [0, 1, 2], budget=1 << 20)
    for _ in range(2):
        found.read()
        assert list(found.until_whole(found.arrived.get())) == sent
    assert found.spill._waiting == 0
    assert (found.spill._file is None) == (held > 2)
    found.spill.close()


def test_more_than_may_wait_in_memory_and_in_the_file_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = real_batch(1)
    monkeypatch.setattr(collect, "IN_MEMORY_BYTES", one.nbytes)
    found = stream(one, one, one, [0, 1, 2], budget=2 * one.nbytes)
    found.read()
    arrived = come(found)
    assert [type(each) for each in arrived] == [pa.RecordBatch, Spilled, TooLargeError]


def test_a_full_disk_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(collect, "IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(os, "pwrite", no_space)
    found = stream(real_batch(1), [0], budget=1 << 20)
    found.read()
    assert [type(each) for each in come(found)] == [TooLargeError]


def test_what_was_taken_does_not_wait_any_more() -> None:
    one = record_batch()
    found = stream(one, [0], budget=10)
    for _ in range(5):
        found.read()
        assert list(found.until_whole(found.arrived.get())) == [one]


def test_who_has_left_is_given_nothing_and_spark_is_still_read() -> None:
    found = stream(record_batch(1000), [0], budget=10)
    found.is_left = True
    found.read()
    assert come(found) == []


def test_a_reader_that_fails_says_that_nothing_more_comes() -> None:
    one = record_batch()
    found = stream(one, cut=OSError("cut"))
    with pytest.raises(OSError, match="cut"):
        found.read()
    assert come(found) == [one]


def whole(*arrivals: Any, **how: Any) -> list[Any]:
    found = stream(**how)
    for each in (*arrivals[1:], None):
        found.arrived.put(each)
    return list(found.until_whole(arrivals[0]))


def test_what_is_whole_ends() -> None:
    one, two = record_batch(), record_batch()
    assert whole(one, two, [0, 1]) == [one, two]
    assert whole([]) == []


@pytest.mark.parametrize("order", [[[0]], [[0, 1, 2]], []])
def test_more_or_less_than_spark_sent_is_not_whole(order: list[Any]) -> None:
    with pytest.raises(IncompleteBatchError):
        whole(record_batch(), record_batch(), *order)


def test_a_job_that_failed_is_not_whole() -> None:
    one = record_batch()
    with pytest.raises(PySparkException, match="upstream"):
        whole(one, [0], fails="upstream")
    with pytest.raises(TooLargeError):
        whole(one, [0], fails=f"more than {MAX_RESULT_SIZE}")
    with pytest.raises(TooLargeError):
        whole(one, TooLargeError())
