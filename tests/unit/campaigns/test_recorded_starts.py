"""The list of starts is compared with what was done, in everything that it says."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from campaigns.recorded_starts import Start, choose_ways, differences, expected
from campaigns.streams.ends_in_a_way import EXITED, FAILED, KILLED, REPLACED, STOPPED

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)


def start(way: str) -> Start:
    return Start(
        way=way,
        first_batch=4,
        last_file=5,
        asked_at=NOON,
        process=None,  # type: ignore[arg-type]
        said={"run_id": "8a1f", "spark": "4.2.0", "error": "X" if way == FAILED else None},
        began_by=NOON + timedelta(seconds=9),
        gone_at=NOON + timedelta(seconds=30),
    )


def listed(way: str, **changes: Any) -> dict[str, Any]:
    ended = None if way == KILLED else (NOON + timedelta(seconds=20)).isoformat()
    times = {"started_at": (NOON + timedelta(seconds=5)).isoformat(), "ended_at": ended}
    return {**expected(1, start(way)), **times, **changes}


@pytest.mark.parametrize("way", [STOPPED, EXITED, FAILED, KILLED, REPLACED])
def test_what_is_equal_has_no_difference(way: str) -> None:
    assert differences([start(way)], [listed(way)]) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"ended": "lost"},
        {"run_id": "8a20"},
        {"epoch": 2},
        {"spark": "4.1.4"},
        {"error": "Y"},
        {"first_batch": 3},
        {"last_batch": None},
        {"started_at": (NOON + timedelta(seconds=10)).isoformat()},
        {"started_at": (NOON - timedelta(seconds=1)).isoformat()},
        {"ended_at": (NOON + timedelta(seconds=31)).isoformat()},
        {"ended_at": None},
        {"more": 1},
    ],
)
def test_everything_else_is_a_difference(changes: dict[str, Any]) -> None:
    assert differences([start(STOPPED)], [listed(STOPPED, **changes)])


def test_an_end_of_a_killed_driver_and_a_missing_start_are_differences() -> None:
    assert differences([start(KILLED)], [listed(KILLED, ended_at=NOON.isoformat())])
    assert differences([start(KILLED)], [])


@pytest.mark.parametrize("seed", range(20))
def test_each_kind_of_end_comes_as_often_and_none_is_left_open(seed: int) -> None:
    ways = choose_ways(20, seed)
    kinds = Counter(STOPPED if way == EXITED else way for way in ways)
    assert set(kinds.values()) == {4}
    assert ways.count(EXITED) == 2
    assert ways[-1] not in (REPLACED, FAILED)
