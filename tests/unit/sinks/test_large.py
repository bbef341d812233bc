"""What executors lack is looked for by one small task, while the query starts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException

from holdfast.sinks.postgres.large import ExecutorCheck
from tests.stand_ins import stand_in


class OneTask:
    """As much of a Spark session as runs one task here."""

    def __init__(self, *, failing: bool = False) -> None:
        self.sparkContext = self
        self._jsparkSession = None
        self.conf = dict[str, str]()
        self.failing = failing
        self.threads: list[threading.Thread] = []

    def parallelize(self, data: list[int], parts: int) -> Any:
        assert (len(data), parts) == (1, 1)

        def flat_map(function: Callable[[int], Iterable[Any]]) -> Any:
            def collect() -> list[Any]:
                self.threads.append(threading.current_thread())
                if self.failing:
                    raise PySparkException("no such module: holdfast")
                return [found for each in data for found in function(each)]

            return SimpleNamespace(collect=collect)

        return SimpleNamespace(flatMap=flat_map)


def test_what_a_task_finds_missing_is_told() -> None:
    assert ExecutorCheck(stand_in(OneTask()), lambda: "dsn").missing() == []
    (missing,) = ExecutorCheck(stand_in(OneTask()), "env:NOT_SET_ANYWHERE").missing()
    assert "NOT_SET_ANYWHERE" in missing


def test_a_task_that_cannot_run_lacks_holdfast() -> None:
    check = ExecutorCheck(stand_in(OneTask(failing=True)), lambda: "dsn")
    assert check.missing() == ["Holdfast itself (PySparkException)"]


def test_a_function_that_cannot_be_sent_is_told_and_no_task_is_run() -> None:
    lock, spark = threading.Lock(), OneTask()

    def secret() -> str:
        return str(lock)

    (missing,) = ExecutorCheck(stand_in(spark), secret).missing()
    assert "cannot be sent there" in missing
    assert spark.threads == []


def test_the_start_of_a_query_does_not_wait_for_it() -> None:
    spark = OneTask()
    check = ExecutorCheck(stand_in(spark), lambda: "dsn")
    check.missing()
    (thread,) = spark.threads
    assert thread is not threading.main_thread()
    assert thread.daemon, "nor does the end of the program"


def test_a_check_is_asked_for_as_often_as_one_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.sinks.postgres.large._look_there", lambda *_: ["x"])
    check = ExecutorCheck(stand_in(OneTask()), "env:DSN")
    assert (check.missing(), check.missing()) == (["x"], ["x"])


def test_the_end_of_a_query_waits_for_the_task() -> None:
    """A program that ends before it makes Spark log that a Python worker exited unexpectedly."""
    spark = OneTask()
    check = ExecutorCheck(stand_in(spark), lambda: "dsn")
    check.wait()
    (thread,) = spark.threads
    assert not thread.is_alive()
