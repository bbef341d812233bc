"""Plays what can happen to the table of a stream, and judges the table row by row.

    python -m campaigns.target_changes [--kind KIND] [--only TEXT] [--seed N --sample N]

Every cell is a change, a kind of table and a moment, on real Spark, PostgreSQL and Delta. A line
per cell, then the table of `docs/reference/target-changes.md`. Ends with 1 when a cell differs.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from campaigns.target_changes.cells import Cell
from campaigns.target_changes.matrix import KINDS, choose
from campaigns.target_changes.player import Played
from campaigns.target_changes.report import page_of
from campaigns.target_changes.stage import play
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import start_session
from lab.warm_up import ensure_archive


def try_to_play(cell: Cell, **given: Any) -> Played:
    """Play a cell; whatever it fails with is one more way to be wrong."""
    began = time.monotonic()
    try:
        return play(cell, **given)
    except Exception as error:  # noqa: BLE001 - the other cells are played as well
        why = f"{type(error).__name__}: {error}".partition("\n")[0]
        seconds = time.monotonic() - began
        return Played(cell=cell, steps=("failed",), wrong=(why,), seconds=seconds)


def show(played: Played) -> None:
    """Print what happened in a cell."""
    verdict = "ok" if not played.wrong else "WRONG"
    print(f"{verdict} {played.cell.name}: {' '.join(played.steps)} ({played.seconds:.1f} s)")
    for each in played.wrong:
        print(f"    {each}", flush=True)


def report(found: Sequence[Played]) -> None:
    """Print the table and the counts."""
    verdicts = [(each.cell, each.cell.verdict_of(each.steps)) for each in found]
    for kind in KINDS:
        print("", *page_of(kind, verdicts), sep="\n")
    wrong = [each for each in found if each.wrong]
    heads = Counter(verdict.partition(":")[0] for _, verdict in verdicts)
    shown = ", ".join(f"{count} {head}" for head, count in heads.most_common())
    print(f"{len(found)} cells: {shown}; {len(wrong)} differ")
    for each in wrong:
        print(f"  {each.cell.name}: {'; '.join(each.wrong)}")


@click.command(help=__doc__)
@click.option("--kind", type=click.Choice(KINDS))
@click.option("--only", default="", help="Only cells whose name has this text in it.")
@click.option("--seed", default=0, show_default=True)
@click.option("--sample", default=0, help="So many cells, drawn by the seed; 0 is all.")
def main(*, kind: str | None, only: str, seed: int, sample: int) -> None:
    """Play the cells; end with 1 when one differs from what must happen."""
    ensure_archive()
    began, found = time.monotonic(), []
    with Postgres() as server, scratch_directory() as directory:
        spark = start_session(directory / "spark", {})
        spark.sparkContext.setLogLevel("OFF")  # every refusal would be there with its stack
        for number, cell in enumerate(choose(kind, only, seed=seed, sample=sample)):
            place = Path(directory, f"cell-{number}")
            found.append(try_to_play(cell, spark=spark, server=server, directory=place))
            show(found[-1])
        spark.stop()
    report(found)
    print(f"{(time.monotonic() - began) / 60:.0f} minutes")
    sys.exit(1 if not found or any(each.wrong for each in found) else 0)


if __name__ == "__main__":
    main()
