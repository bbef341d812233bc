"""A batch on its way from Spark: whole only when Spark says so, and never more than may wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from holdfast.sinks.postgres.collect import (
    MAX_RESULT_SIZE,
    IncompleteBatchError,
    TooLargeError,
    _Stream,
)

WELL = SimpleNamespace(getResult=lambda: None)


def record_batch(nbytes: int = 10) -> Any:
    return SimpleNamespace(nbytes=nbytes)


def failing(message: str) -> Any:
    def fail() -> None:
        raise PySparkException(message)

    return SimpleNamespace(getResult=fail)


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise what the server raises as it is: to look into it, Spark asks its JVM."""
    path = "pyspark.errors.exceptions.captured.unwrap_spark_exception"
    monkeypatch.setattr(path, nullcontext)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What Spark's socket gives."""
    found: list[Any] = []

    @contextmanager
    def load(address: Any, serializer: Any) -> Iterator[Iterator[Any]]:
        assert address == ["here", "secret"]
        assert serializer is not None
        yield iter(found)

    monkeypatch.setattr("pyspark.util._load_from_socket", load)
    return found


def stream(budget: int = 100) -> _Stream:
    return _Stream(["here", "secret"], budget)


def come(found: _Stream) -> list[Any]:
    kinds = []
    while (each := found.arrived.get()) is not None:
        kinds.append(each)
    assert found.arrived.empty()
    return kinds


def test_everything_is_taken_and_then_nothing_more(sent: list[Any]) -> None:
    sent += [record_batch(), record_batch(), [0, 1]]
    found = stream()
    found.read()
    assert come(found) == sent


@pytest.mark.parametrize(("budget", "is_too_much"), [(20, False), (19, True)])
def test_more_than_may_wait_is_not_taken(
    sent: list[Any], *, budget: int, is_too_much: bool
) -> None:
    sent += [record_batch(), record_batch(), [0, 1]]
    found = stream(budget)
    found.read()
    arrived = come(found)
    assert len(arrived) == (2 if is_too_much else 3)
    assert isinstance(arrived[-1], TooLargeError) == is_too_much


def test_what_was_taken_does_not_wait_any_more(sent: list[Any]) -> None:
    found = stream(budget=10)
    for _ in range(5):
        sent[:] = [record_batch(), [0]]
        found.read()
        assert list(found.until_whole(found.arrived.get(), WELL)) == sent[:1]


def test_who_has_left_is_given_nothing_and_spark_is_still_read(sent: list[Any]) -> None:
    sent += [record_batch(1000), [0]]
    found = stream(budget=10)
    found.is_left = True
    found.read()
    assert come(found) == []


def test_a_reader_that_fails_says_that_nothing_more_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> Any:
        raise OSError("cut")

    monkeypatch.setattr("pyspark.util._load_from_socket", fail)
    found = stream()
    with pytest.raises(OSError, match="cut"):
        found.read()
    assert come(found) == []


def whole(*arrivals: Any, server: Any = WELL) -> list[Any]:
    found = stream()
    for each in (*arrivals[1:], None):
        found.arrived.put(each)
    return list(found.until_whole(arrivals[0], server))


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
        whole(one, [0], server=failing("upstream"))
    with pytest.raises(TooLargeError):
        whole(one, [0], server=failing(f"more than {MAX_RESULT_SIZE}"))
    with pytest.raises(TooLargeError):
        whole(one, TooLargeError())
