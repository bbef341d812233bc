"""What the soak calls growth: a planted one is found, and what is stated to grow is let grow."""

from __future__ import annotations

import random

import pytest

from campaigns.soak.growth import (
    BATCHES,
    BOUNDED,
    NOT_JUDGED,
    PER_START,
    STARTS,
    count_files,
    judge_growth,
)

SAMPLES = 80


def sample(start: int, **changes: float) -> dict[str, float]:
    noise = random.Random(start)
    steady = {name: 500.0 + noise.uniform(-50, 50) for name in BOUNDED}
    kept = {name: float(each * start) for name, each in PER_START.items()}
    flowing = dict.fromkeys(NOT_JUDGED, 7.0 * start)
    return {**steady, **kept, **flowing, STARTS: float(start), **changes}


def found_to_grow(samples: list[dict[str, float]]) -> list[str]:
    return [each.name for each in judge_growth(samples) if each.is_too_much]


def test_what_only_varies_or_is_stated_to_grow_is_no_growth() -> None:
    assert found_to_grow([sample(start) for start in range(1, SAMPLES + 1)]) == []


@pytest.mark.parametrize("name", BOUNDED)
def test_a_planted_growth_of_a_bounded_figure_is_found(name: str) -> None:
    samples = [sample(start, **{name: 500.0 + 2 * start}) for start in range(1, SAMPLES + 1)]
    assert found_to_grow(samples) == [name]


def test_two_levels_that_take_turns_are_no_growth_though_the_medians_differ() -> None:
    levels = [100.0, 40.0, 40.0, 100.0] * (SAMPLES // 8) + [100.0, 40.0, 100.0, 100.0] * (
        SAMPLES // 8
    )
    samples = [
        sample(start, **{"Python's open files": level}) for start, level in enumerate(levels, 1)
    ]
    assert found_to_grow(samples) == []


@pytest.mark.parametrize("name", PER_START)
def test_more_files_for_each_start_than_stated_are_found(name: str) -> None:
    samples = [
        sample(start, **{name: (PER_START[name] + 1.0) * start}) for start in range(1, SAMPLES + 1)
    ]
    assert found_to_grow(samples) == [name]


def test_a_lakes_files_are_counted_by_what_they_are() -> None:
    record = "sensors/checkpoints/_holdfast/raw"
    counts = count_files(
        [
            f"{record}/leases/000001.json",
            f"{record}/leases/000002.json",
            f"{record}/runs/000001-x.json",
            f"{record}/generations/0001.json",
            f"{record}/batches/0001-000041-e8/part-0.parquet",
            "sensors/checkpoints/raw/metadata",
            "sensors/checkpoints/raw/offsets/9",
            "sensors/checkpoints/raw/offsets/10",
            "sensors/checkpoints/typed/offsets/3",
            "sensors/raw/_delta_log/00000000000000000000.json",
            "sensors/raw/part-0.parquet",
        ]
    )
    assert counts == {
        "lease files": 2,
        "run files": 1,
        "other record files": 2,
        "checkpoint files": 4,
        "table log files": 1,
        "table files": 1,
        BATCHES: 11 + 4,
    }
