"""Kills, pauses and lost answers of streams into Iceberg, on a JDBC catalog in PostgreSQL.

    python -m campaigns.iceberg_kills [CHAIN]... [--spark 4.1] [--rest]

With `--rest` the catalog is Iceberg's reference REST catalog, over that one.

It runs in the Python of a version of Spark that Iceberg has a runtime for. In a chain every run
recovers the last kill and dies at the next point: between two steps, and in a commit, before its
request reaches the catalog (which takes it when the driver is gone) or before the answer comes. A
reader without Spark looks at the table five times a
second, with the ledger row of the same metadata file. `pauses`: a driver is paused past its lease,
replaced by a second one, and resumed. `answers`: the connection to the catalog breaks in a commit.
`by-toTable` and `by-foreachBatch` are not guarded: what they lose and duplicate is counted.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from campaigns.iceberg_kills.chains import (
    CHAINS,
    PAUSES,
    UNGUARDED,
    lose_answer,
    pause,
    run_chain,
)
from campaigns.outcome import describe, describe_bound, kills_of
from holdfast.drills.history import History
from lab import Postgres
from lab.iceberg import RUNTIMES, iceberg_installation, run_iceberg
from lab.scratch import scratch_directory
from lab.versions import OWN_VERSION
from lab.warm_up import ensure_archive

PAUSED, ANSWERS = "pauses", "answers"
NAMES = (*CHAINS, *UNGUARDED, PAUSED, ANSWERS)


def run(name: str, postgres: Postgres, scratch: Path, *, is_rest: bool) -> int:
    """Run one chain, or what is beside the chains; return the kills that passed.

    Raises:
        AssertionError: Something does not pass.
    """
    if name == PAUSED:
        for number, point in enumerate(PAUSES):
            click.echo(
                pause(point, postgres, directory=scratch / f"pause-{number}", is_rest=is_rest)
            )
    elif name == ANSWERS:
        for nth in range(1, 6):
            for when in ("before", "after"):
                directory = scratch / f"answer-{when}-{nth}"
                click.echo(lose_answer(nth, when, postgres, directory=directory, is_rest=is_rest))
    else:
        chain = {**CHAINS, **UNGUARDED}[name]
        drilled, damaged = run_chain(
            name, chain, postgres, directory=scratch / name, is_rest=is_rest
        )
        click.echo(describe(drilled))
        for text, looks in Counter(damaged).items():
            click.echo(f"  {looks} looks found a damaged file in a committed snapshot: {text}")
        if name in UNGUARDED:
            return 0
        assert drilled.verdict == 0, f"{name} does not pass"
        return kills_of(History(drilled.directory))
    return 0


@click.command(help=__doc__)
@click.argument("names", metavar="[CHAIN]...", nargs=-1, type=click.Choice(NAMES))
@click.option("--spark", default="4.1", show_default=True, type=click.Choice(list(RUNTIMES)))
@click.option("--rest", "is_rest", is_flag=True, help="With a REST catalog.")
def main(names: tuple[str, ...], *, spark: str, is_rest: bool) -> None:
    """Run what is asked for, or all."""
    if spark != OWN_VERSION:
        words = [*names, "--spark", spark, *(["--rest"] if is_rest else [])]
        sys.exit(run_iceberg("campaigns.iceberg_kills", words, version=spark))
    ensure_archive(iceberg_installation(OWN_VERSION))
    with Postgres() as postgres, scratch_directory() as scratch:
        counted = sum(run(name, postgres, scratch, is_rest=is_rest) for name in names or NAMES)
    if counted:
        click.echo(describe_bound(counted))


if __name__ == "__main__":
    main()
