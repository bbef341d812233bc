from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.errors import PySparkException, PySparkValueError
from pyspark.sql.streaming.query import StreamingQuery

from holdfast.streams.query import GuardedQuery, LeaseLostError, describe_failure


class StubRenewer:
    """A renewer whose query has ended, or runs on."""

    is_lost = False
    is_unconfirmed = False

    def __init__(self, *, ended: bool) -> None:
        self.ended = ended
        self.waited: list[float | None] = []
        self.closed: list[float] = []

    def wait_for_end(self, seconds: float | None) -> bool:
        self.waited.append(seconds)
        return self.ended

    def wait(self, seconds: float) -> bool:
        self.closed.append(seconds)
        return True


def query_of(renewer: StubRenewer) -> GuardedQuery:
    java = SimpleNamespace(_jsq=SimpleNamespace(isActive=lambda: not renewer.ended))
    return GuardedQuery(
        cast("StreamingQuery", java), stream="readings", renewer=cast("Any", renewer)
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
    renewer = StubRenewer(ended=False)
    assert query_of(renewer).awaitTermination(3) is False
    assert (renewer.waited, asked) == ([3], [])


@pytest.mark.parametrize("timeout", [None, 3])
def test_when_it_has_ended_spark_says_how(asked: list[Any], timeout: int | None) -> None:
    renewer = StubRenewer(ended=True)
    assert query_of(renewer).awaitTermination(timeout) is True
    assert (renewer.waited, asked) == ([timeout], [timeout])
    assert renewer.closed == [20.0 if timeout is None else 3], "its sinks are closed before"


@pytest.mark.parametrize("timeout", [0, -1, "10 seconds"])
def test_a_timeout_that_spark_does_not_take_is_left_to_it(timeout: Any) -> None:
    renewer = StubRenewer(ended=False)
    with pytest.raises((PySparkException, PySparkValueError, AttributeError)):
        query_of(renewer).awaitTermination(timeout)
    assert renewer.waited == []


def test_a_failure_that_the_start_foresaw_ends_with_what_repairs_it() -> None:
    renewer = cast("Any", SimpleNamespace(failed=None, last_batch=None, is_handed_over=False))
    advice = "HF202 entry-unreadable. What to do (resume): holdfast plan resume readings"
    assert describe_failure("readings", renewer, advice).splitlines() == [
        "holdfast: readings failed, and not while a batch was written to its sinks.",
        f"  The start foresaw it. {advice}",
    ]
    assert "foresaw" not in describe_failure("readings", renewer)


@pytest.mark.parametrize("is_unconfirmed", [True, False])
def test_a_lost_lease_blames_another_driver_only_if_there_is_one(
    asked: list[Any], *, is_unconfirmed: bool
) -> None:
    renewer = StubRenewer(ended=True)
    renewer.is_lost, renewer.is_unconfirmed = True, is_unconfirmed
    with pytest.raises(LeaseLostError) as raised:
        query_of(renewer).awaitTermination(3)
    assert ("Another driver has taken it over" in raised.value.why) is not is_unconfirmed
    assert ("was not renewed within its term" in raised.value.why) is is_unconfirmed
    assert asked
