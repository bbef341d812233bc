"""Kills and pauses of guarded streams into MariaDB and SQLite.

    python -m campaigns.database_kills [CHAIN]...

In a chain every run recovers the last kill and dies at the next point, without and with state.
After every death the table holds exactly the batches that the ledger tells of; at the end every row
once. Meanwhile a reader that knows nothing of Holdfast reads the table five times a second, and
finds complete batches. `pauses`: a driver is paused past its lease at each point, replaced by a
second one, and resumed. `sqlite-pauses`: the same for SQLite; paused within its transaction, a
driver keeps the file, and its successor is refused until it goes on. `processes`: the same for
writers without Spark, a few hundred times, also some milliseconds into a commit, and with the
server killed.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from campaigns.database_kills.chains import (
    CHAINS,
    INSIDE_SQLITE,
    OUTSIDE_SQLITE,
    PAUSES,
    pause,
    pause_inside,
    run_chain,
)
from campaigns.database_kills.places import make_database
from campaigns.database_kills.processes import COLUMNS, Into, run_processes
from campaigns.outcome import describe, describe_bound, kills_of
from holdfast.drills.history import History
from lab import Kafka
from lab.mariadb import MariaDB
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

PAUSED, SQLITE, PROCESSES = "pauses", "sqlite-pauses", "processes"
KINDS = (
    ("mariadb", "appended"),
    ("load", "appended"),
    ("mariadb", "merged"),
    ("sqlite", "appended"),
    ("sqlite", "merged"),
)
NAMES = (*CHAINS, PAUSED, SQLITE, PROCESSES)


def show_processes(server: MariaDB, scratch: Path, *, kills: int, seed: int) -> None:
    """Kill and pause writers without Spark, into each kind of database."""
    for kind, shape in KINDS:
        directory = scratch / f"{kind}-{shape}"
        directory.mkdir()
        database = make_database(kind, COLUMNS[shape], server=server, directory=directory)
        place = Into(directory=directory, servers=database.url, database=database, shape=shape)
        many = {"kills": kills, "pauses": kills // 5, "crashes": kills // 20}
        for line in run_processes(place, seed=seed, **many):
            click.echo(f"{kind}, {shape}: {line}")


def run(name: str, kafka: Kafka, server: MariaDB, *, scratch: Path) -> int:
    """Run one chain, or the pauses; return the kills of drivers that passed.

    Raises:
        AssertionError: Something does not pass.
    """
    if name == PAUSED:
        for number, point in enumerate(PAUSES):
            directory = scratch / f"pause-{number}"
            click.echo(pause(point, kafka, server=server, directory=directory))
        return 0
    if name == SQLITE:
        for number, point in enumerate(OUTSIDE_SQLITE):
            click.echo(pause(point, kafka, server=None, directory=scratch / f"outside-{number}"))
        for number, point in enumerate(INSIDE_SQLITE):
            click.echo(pause_inside(point, kafka, directory=scratch / f"inside-{number}"))
        return 0
    drilled = run_chain(name, CHAINS[name], kafka, server=server, directory=scratch / name)
    click.echo(describe(drilled))
    assert drilled.verdict == 0, f"{name} does not pass"
    return kills_of(History(drilled.directory))


@click.command(help=__doc__)
@click.argument("names", metavar="[CHAIN]...", nargs=-1, type=click.Choice(NAMES))
@click.option("--kills", default=60, show_default=True, help="Of processes, for each kind.")
@click.option("--seed", default=1, show_default=True, help="What is drawn.")
def main(names: tuple[str, ...], *, kills: int, seed: int) -> None:
    """Run what is asked for, or all."""
    chosen = names or NAMES
    with ExitStack() as servers, scratch_directory() as scratch:
        server = servers.enter_context(MariaDB())
        if PROCESSES in chosen:
            show_processes(server, scratch, kills=kills, seed=seed)
        if set(chosen) == {PROCESSES}:
            return
        ensure_archive()
        kafka = servers.enter_context(Kafka())
        counted = sum(
            run(name, kafka, server, scratch=scratch) for name in chosen if name != PROCESSES
        )
    if counted:
        click.echo(describe_bound(counted))


if __name__ == "__main__":
    main()
