"""The drills that come with Holdfast, whole: every stream killed in every phase that it comes by.

    python -m campaigns.every_drill [DRILL...] [--each N --seed S]

Without names each stream in one chain (`*/every`): n kills take n + 1 drivers, and nearly all of
them strike in the recovery of the one before. With `--each`, N phases of every stream are drawn
instead. A line per drill, then the bound that follows.
"""

from __future__ import annotations

import os
import random
import sys
import time

import click

from campaigns.outcome import describe, describe_bound
from holdfast.drills.builtin.cells import BUILTIN, Cell, run_cell
from holdfast.drills.builtin.choose import choose_cells
from holdfast.drills.phases import EVERY
from holdfast.drills.verdict import DrillVerdict
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive


def draw_phases(count: int, *, seed: int) -> list[Cell]:
    """Return so many drills of every stream, drawn by the seed."""
    rng = random.Random(seed)  # noqa: S311 - to be replayed
    streams = [choose_cells([name]) for name in BUILTIN]
    drawn = [rng.sample(range(len(cells)), min(count, len(cells))) for cells in streams]
    return [
        cells[at] for cells, places in zip(streams, drawn, strict=True) for at in sorted(places)
    ]


@click.command(help=__doc__)
@click.argument("names", nargs=-1, metavar="[DRILL]...")
@click.option("--each", type=int, help="Draw so many phases of every stream.")
@click.option("--seed", default=1, show_default=True)
def main(*, names: tuple[str, ...], each: int | None, seed: int) -> None:
    """Run the drills; end with 1 when one does not pass."""
    cells = choose_cells(names or [f"*/{EVERY}"]) if each is None else draw_phases(each, seed=seed)
    ensure_archive()
    verdicts, total, began = [], 0, time.monotonic()
    with Postgres() as postgres, scratch_directory() as scratch:
        os.environ.update(environment(scratch / "spark", {}))
        dsn = postgres.create_database("drills")
        for cell in cells:
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
    main()
