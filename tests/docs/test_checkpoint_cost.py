"""The page about what a checkpoint costs has the rows of its benchmark."""

from __future__ import annotations

import re

import pytest

from benchmarks.checkpoint_cost import DISK, HEADS, ON_S3
from benchmarks.checkpoint_ways import WAYS
from holdfast.evidence.cost_requests import DATA_FILE, LOG_FILE, STATE_FILE, Requests
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/explanation/checkpoint-cost.md").read_text()
NAMES = [way.name for way in WAYS]
FIGURE = re.compile(r"[0-9,.]+ \([0-9,.]+ to [0-9,.]+\)( %)?")


def tables() -> list[list[list[str]]]:
    """Return every table of the page, as rows of cells."""
    found: list[list[list[str]]] = [[]]
    for line in PAGE.splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        elif found[-1]:
            found.append([])
    return [each for each in found if each]


def table_of(store: str) -> list[list[str]]:
    (found,) = (each for each in tables() if tuple(each[0]) == HEADS[store])
    return found


@pytest.mark.parametrize("store", [DISK, ON_S3])
def test_the_table_has_the_rows_and_columns_that_the_command_prints(store: str) -> None:
    _, marks, *rows = table_of(store)
    assert marks == ["---", *("--:" for _ in HEADS[store][1:])]
    assert [row[0] for row in rows] == NAMES
    for way, row in zip(WAYS, rows, strict=True):
        assert len(row) == len(HEADS[store])
        spreads = row[1:2] + row[3:-2] + (row[2:3] if way.base else [])
        assert all(FIGURE.fullmatch(cell) for cell in spreads), row
        assert way.base or row[2] == "1"
        assert all(re.fullmatch(r"[0-9,]+", cell) for cell in row[-2:])


def test_every_way_says_what_it_gives_up_at_a_restart() -> None:
    (found,) = (each for each in tables() if each[0][-1] == "gives up at a restart")
    assert [row[0] for row in found[2:]] == NAMES
    assert all(row[-1] for row in found[2:])


def test_the_requests_of_a_file_are_those_that_inspect_counts_with() -> None:
    (found,) = (each for each in tables() if each[0][0] == "a file")
    shown = [
        Requests(writes=float(row[1]), reads=float(row[2]), deletes=float(row[3]))
        for row in found[2:]
    ]
    assert shown == [LOG_FILE, STATE_FILE, DATA_FILE]
