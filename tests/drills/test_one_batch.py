"""One batch killed at each of its numbers: the page says what is on disk and in the database then.

Every run begins with nothing and dies once. `HOLDFAST_ONE_BATCH=all` kills at every row of the
page; the gate keeps a few by seed.
"""

from __future__ import annotations

import os
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from holdfast.drills.kill import Named, Point, Rename
from tests.drills.tutorial import Tutorial
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/explanation/one-batch-file-by-file.md").read_text()
SAMPLE = 2
LEDGER = "SELECT epoch, last_batch FROM holdfast.ledger"
DIFFERENT = (
    (r"\.0\..*\.tmp$", ".0.….tmp"),
    (r"/contracts/\w+", "/contracts/…"),
    (r"-[\w-]{36}\.", "-…."),
)
"""What of a name is different every time."""
RUN = "_holdfast/readings/runs/000001-….json"
BESIDE = "G6"
"""Spark has been started, and runs beside: only what is ours is as the page says."""


@dataclass(frozen=True)
class State:
    """What there is at a point."""

    files: frozenset[str]
    rows: int
    """In the table."""
    ledger: str
    """Its one row, in the page's words."""


def point_of(name: str) -> Point:
    """Return where a row of the page is: `S4`, `before offsets/0`."""
    when, _, target = name.partition(" ")
    if when in ("before", "after"):
        return Rename("before" if when == "before" else "after", target)
    return Named(name)


def page_states() -> dict[str, State]:
    """Return the rows of the page: a file that is shown once stays, until it becomes another."""
    states: dict[str, State] = {}
    files: set[str] = set()
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) != 5 or not cells[0].startswith("`"):
            continue
        name, disk, rows, ledger, _ = cells
        files |= set(re.findall(r"`(.*?)`", disk))
        files -= set(re.findall(r"`([^`]*)` becomes", disk))
        states[name.strip("`")] = State(frozenset(files), int(rows), ledger)
    return states


def nameless(path: str) -> str:
    """Return a path without what is different every time."""
    for pattern, shown in DIFFERENT:
        path = re.sub(pattern, shown, path)
    return path


def comparable(state: State, name: str) -> State:
    """Return of a state what does not depend on whether Spark or we were faster."""
    files = state.files
    if name == BESIDE:
        ours = (each for each in files if each.startswith("_holdfast/"))
        files = frozenset(each for each in ours if "/inputs/" not in each)  # of Spark's first batch
    elif RUN in files:
        files -= {RUN}
    return replace(state, files=files)


def found_state(tutorial: Tutorial) -> State:
    """Return what there is, without checksums and without what is different every time."""
    root = tutorial.here / "streams"
    paths = (str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    files = {nameless(each) for each in paths if ".crc" not in each}
    ((rows,),) = tutorial.run_sql("SELECT count(*) FROM readings")
    ((there,),) = tutorial.run_sql("SELECT to_regclass('holdfast.ledger') IS NOT NULL")
    if not there:
        return State(frozenset(files), rows, "no tables")
    row = tutorial.run_sql(LEDGER)
    told = f"epoch {row[0][0]}, batch {row[0][1]}" if row else "no row"
    return State(frozenset(files), rows, told)


def names(seed: int) -> list[str]:
    every = list(page_states())
    if os.environ.get("HOLDFAST_ONE_BATCH") == "all":
        return every
    return random.Random(seed).sample(every, SAMPLE)


@pytest.mark.usefixtures("class_archive")
def test_what_is_there_at_a_kill_is_what_the_page_says(
    database: str, seed: int, tmp_path: Path
) -> None:
    states = page_states()
    for number, name in enumerate(names(seed)):
        tutorial = Tutorial(here=tmp_path / str(number), dsn=database)
        tutorial.here.mkdir()
        tutorial.run_sql("DROP TABLE IF EXISTS readings")
        tutorial.run_sql("DROP SCHEMA IF EXISTS holdfast CASCADE")
        tutorial.prepare()
        tutorial.driver().run_until_killed(point_of(name))
        found = comparable(found_state(tutorial), name)
        assert found == comparable(states[name], name), name
