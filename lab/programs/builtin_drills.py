"""Runs built-in drills in the Python that starts it, each killed at points of the caller's choice.

    python builtin_drills.py DIRECTORY '{"postgres-append": ["at:copying", "at:S6"]}'
    python builtin_drills.py DIRECTORY '{"postgres-append": ["every"]}'

The variable HOLDFAST_DRILL_DSN has the DSN of a scratch database. What the drills showed is
printed as JSON, in the form of `holdfast drill run --format json`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import msgspec

from holdfast.clock import now
from holdfast.drills.builtin.cells import BUILTIN, CELLS, Cell, run_cell
from holdfast.drills.builtin.places import DSN_NAME
from holdfast.drills.phases import EVERY, asked_phase
from holdfast.drills.summary import About, summarize, write_summary

FILES = 3
"""One batch each: fewer than the drills of `holdfast drill run`, which reach every phase."""


def main(directory: Path, chains: dict[str, list[str]]) -> None:
    """Run one drill after the other, and print what they showed."""
    drilled = [
        run_cell(cell_of(name, points), directory=directory / name, dsn=os.environ[DSN_NAME])
        for name, points in chains.items()
    ]
    about = About(
        target="built-in streams", began=now().astimezone(), command="python -m lab matrix"
    )
    write_summary(about, drilled, directory=directory)
    print(msgspec.json.encode(summarize(about, drilled)).decode())


def cell_of(name: str, points: list[str]) -> Cell:
    """Return the drill of a built-in stream, killed at these points, or in every phase."""
    if points == [EVERY]:
        return CELLS[f"{name}/{EVERY}"]
    return Cell(stream=BUILTIN[name], phase=asked_phase(points), files=FILES)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
