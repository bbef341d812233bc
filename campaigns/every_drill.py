"""The drills that come with Holdfast, whole: every stream killed in every phase that it comes by.

    python -m campaigns.every_drill [DRILL...]

Without names each stream in one chain (`*/every`): n kills take n + 1 drivers, and nearly all of
them strike in the recovery of the one before. A line per drill, then the bound that follows.
"""

from __future__ import annotations

import os
import sys
import time

from campaigns.outcome import describe, describe_bound
from holdfast.drills.builtin.cells import run_cell
from holdfast.drills.builtin.choose import choose_cells
from holdfast.drills.phases import EVERY
from holdfast.drills.verdict import DrillVerdict
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive


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
            print(describe(drilled), flush=True)
    passed = verdicts.count(DrillVerdict.PASS)
    minutes = (time.monotonic() - began) / 60
    print(f"{passed} of {len(verdicts)} drills pass, {total} kills, {minutes:.0f} minutes")
    if any(verdicts):
        sys.exit(1)
    print(describe_bound(total))


if __name__ == "__main__":
    main(sys.argv[1:])
