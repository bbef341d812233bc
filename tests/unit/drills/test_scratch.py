from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from holdfast.drills.scratch import FEWEST_FILES, Scratch, keep_rows, kind_of_sample, read_rows
from holdfast.errors import ConfigError
from holdfast.proof.multiset import compare
from tests.stand_ins import stand_in


def fill(directory: Path, *endings: str, files: int = FEWEST_FILES) -> Path:
    for number in range(files):
        (directory / f"{number}{endings[number % len(endings)]}").touch()
    (directory / "_SUCCESS").touch()
    return directory


def test_a_sample_is_known_by_its_files(tmp_path: Path) -> None:
    assert kind_of_sample(fill(tmp_path, ".parquet")) == "parquet"


def test_samples_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a directory"):
        kind_of_sample(tmp_path / "none")
    with pytest.raises(ConfigError, match="has 2 files"):
        kind_of_sample(fill(tmp_path, ".json", files=2))
    with pytest.raises(ConfigError, match="one kind"):
        kind_of_sample(fill(tmp_path, ".json", ".csv"))


class Frame:
    """What a sink holds."""

    def __init__(self, *rows: object) -> None:
        self._rows = rows

    def collect(self) -> tuple[object, ...]:
        return self._rows


def test_rows_that_are_kept_can_be_compared_whatever_is_in_them(tmp_path: Path) -> None:
    """Arrays and maps are no keys of a dictionary, and NaN is not itself."""
    row = (1, "a", None, math.nan, [1, 2], {"b": 1, "a": [2]})
    for _ in range(2):
        keep_rows([("sink", stand_in(Frame(row, row)))], tmp_path / "rows")
        rows = read_rows(tmp_path / "rows")
        assert rows == 2 * [("sink", 1, "a", None, "NaN", "[1, 2]", '[["a", [2]], ["b", 1]]')]
        assert compare(rows, rows).exact


def test_a_stream_without_a_sample_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--source-sample"):
        Scratch(home=tmp_path, sample=None).source(stand_in(None))


def test_a_map_is_the_same_in_whatever_order_and_with_whatever_keys(tmp_path: Path) -> None:
    day, other = date(2026, 1, 2), Decimal("1.50")
    maps: list[dict[object, object]] = [{day: 1, (1, "a"): {other: None}, 3: []}]
    maps.append(dict(reversed(maps[0].items())))
    path = tmp_path / "rows"
    keep_rows([("sink", stand_in(Frame(*((each,) for each in maps))))], path)
    first, second = read_rows(path)
    assert first == second
    assert "2026-01-02" in first[1]
    keep_rows([("sink", stand_in(Frame(({day: 2, (1, "a"): {other: None}, 3: []},))))], path)
    assert read_rows(path) != [first]
