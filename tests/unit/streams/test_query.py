from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException, PySparkValueError
from pyspark.sql.streaming.query import StreamingQuery

from holdfast.streams.heartbeat import Keeper
from holdfast.streams.query import GuardedQuery


class StubKeeper:
    """A keeper whose query has ended, or runs on."""

    is_lost = False

    def __init__(self, *, ended: bool) -> None:
        self.ended = ended
        self.waited: list[float | None] = []

    def wait_for_end(self, seconds: float | None) -> bool:
        self.waited.append(seconds)
        return self.ended


def query_of(keeper: StubKeeper) -> GuardedQuery:
    java = SimpleNamespace(_jsq=SimpleNamespace(isActive=lambda: not keeper.ended))
    return GuardedQuery(
        cast("StreamingQuery", java), stream="readings", keeper=cast("Keeper", keeper)
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the JVM was asked to wait for."""
    found: list[Any] = []

    def wait(_: StreamingQuery, timeout: Any = None) -> bool:
        found.append(timeout)
        return True

    monkeypatch.setattr(StreamingQuery, "awaitTermination", wait)
    return found


def test_while_it_runs_nobody_waits_in_the_jvm(asked: list[Any]) -> None:
    """Ctrl-C inside a call into the JVM can make both the call and PySpark's handler hang."""
    keeper = StubKeeper(ended=False)
    assert query_of(keeper).awaitTermination(3) is False
    assert (keeper.waited, asked) == ([3], [])


@pytest.mark.parametrize("timeout", [None, 3])
def test_when_it_has_ended_spark_says_how(asked: list[Any], timeout: int | None) -> None:
    keeper = StubKeeper(ended=True)
    assert query_of(keeper).awaitTermination(timeout) is True
    assert (keeper.waited, asked) == ([timeout], [timeout])


@pytest.mark.parametrize("timeout", [0, -1, "10 seconds"])
def test_a_timeout_that_spark_does_not_take_is_left_to_it(timeout: Any) -> None:
    keeper = StubKeeper(ended=False)
    with pytest.raises((PySparkException, PySparkValueError, AttributeError)):
        query_of(keeper).awaitTermination(timeout)
    assert keeper.waited == []
