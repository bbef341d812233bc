"""The drills that come with Holdfast, whole: every stream killed in every phase that it comes by.

    python -m benchmarks.every_drill [DRILL...]

Without names each stream in one chain (`*/every`): n kills take n + 1 drivers, and nearly all of
them strike in the recovery of the one before. A line per drill, then the bound that follows.
"""

from __future__ import annotations

import os
import sys
import time

from holdfast.drills.drill import Drilled
from holdfast.drills.history import Ended, History, Looked
from holdfast.drills.known.cells import run_cell
from holdfast.drills.known.choose import choose_cells
from holdfast.drills.phases import EVERY
from holdfast.drills.verdict import Verdict
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive


def describe(drilled: Drilled, *, kills: int) -> str:
    """Say what a drill showed, and what was wrong."""
    events = History(drilled.directory).events()
    looks = sum(isinstance(each, Looked) for each in events)
    cpu = sum(each.cpu_seconds for each in events if isinstance(each, Ended))
    lines = [f"{drilled.name}: {drilled.verdict.name}, {kills} kills, {looks:,} looks"]
    lines[0] += f", {cpu / kills:.1f} CPU s per kill"
    lines[0] += "".join(f"; {each.told}" for each in drilled.checked if each.check == "same-state")
    wrong = [each for each in drilled.checked if each.verdict]
    return "\n".join(
        [*lines, *(f"  {each.verdict.name} {each.check}: {each.told}" for each in wrong)]
    )


def main(names: list[str]) -> None:
    """Run the drills; end with 1 when one does not pass."""
    ensure_archive()
    verdicts, total, began = [], 0, time.monotonic()
    with Postgres() as postgres, scratch_directory() as scratch:
        os.environ.update(environment(scratch / "spark", {}))
        dsn = postgres.create_database("drills")
        for cell in choose_cells(names or [f"*/{EVERY}"]):
            place = scratch / cell.name.replace("/", "--")
            drilled = run_cell(cell, directory=place, dsn=dsn)
            verdicts.append(drilled.verdict)
            total += len(cell.phase.kills)
            print(describe(drilled, kills=len(cell.phase.kills)), flush=True)
    passed = verdicts.count(Verdict.PASS)
    minutes = (time.monotonic() - began) / 60
    print(f"{passed} of {len(verdicts)} drills pass, {total} kills, {minutes:.0f} minutes", end="")
    print(f": at 95 % fewer than {3 / total:.2%} of kills fail (3/n)" if all_pass(verdicts) else "")
    sys.exit(0 if all_pass(verdicts) else 1)


def all_pass(verdicts: list[Verdict]) -> bool:
    """Return whether there were drills and each has passed."""
    return bool(verdicts) and not any(verdicts)


if __name__ == "__main__":
    main(sys.argv[1:])
