"""How much of a batch the driver takes, by the settings of the session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.errors import ConfigError
from holdfast.sinks import collect


def session(conf: dict[str, str]) -> Any:
    return SimpleNamespace(conf=conf)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (None, 1 << 30),
        ("2g", 2 << 30),
        ("3GB", 3 << 30),
        ("512m", 512 << 20),
        ("100k", 100 << 10),
        ("77", 77),
        ("77b", 77),
        ("0", 1 << 60),
        ("much", 1 << 30),
    ],
)
def test_the_budget_is_what_spark_lets_the_driver_have(limit: str | None, expected: int) -> None:
    conf = {} if limit is None else {collect.MAX_RESULT_SIZE: limit}
    assert collect.budget_of(session(conf)) == expected
    conf[collect.BUDGET_SETTING] = "7"
    assert collect.budget_of(session(conf)) == 7
    assert collect.memory_of(session(conf)) == 7


@pytest.mark.parametrize(
    ("heap", "limit", "expected"),
    [
        (None, None, 256 << 20),
        ("512m", None, 128 << 20),
        ("512", None, 128 << 20),
        ("16g", None, 1 << 30),
        ("16g", "0", 4 << 30),
        ("8g", "100m", 100 << 20),
    ],
)
def test_a_batch_of_known_size_is_for_a_driver_with_memory_for_it(
    heap: str | None, limit: str | None, expected: int
) -> None:
    given = {collect.HEAP: heap, collect.MAX_RESULT_SIZE: limit}
    conf = {name: value for name, value in given.items() if value is not None}
    assert collect.comfortable_of(session(conf)) == expected


def test_a_budget_is_written_as_spark_writes_sizes() -> None:
    conf = {collect.BUDGET_SETTING: "512m"}
    assert collect.budget_of(session(conf)) == 512 << 20
    conf = {collect.BUDGET_SETTING: "half"}
    with pytest.raises(ConfigError, match="number of bytes"):
        collect.budget_of(session(conf))


def test_what_memory_holds_of_a_table_can_be_raised() -> None:
    assert collect.memory_of(session({collect.BUDGET_SETTING: "2g"})) == 2 << 30


def test_memory_holds_a_part_of_the_budget() -> None:
    assert collect.memory_of(session({})) == 256 << 20
