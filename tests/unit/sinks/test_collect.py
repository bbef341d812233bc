"""A batch on its way from Spark: whole only when Spark says so, and never more than may wait."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from holdfast.sinks.collect import (
    MAX_RESULT_SIZE,
    IncompleteBatchError,
    TooLargeError,
    _Stream,
)


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
