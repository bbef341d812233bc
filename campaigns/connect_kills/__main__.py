"""Kills on Spark Connect: client, worker, server and executor, each at six points of the protocol.

    python -m campaigns.connect_kills [PART]...

Parts: `appended`, `counts` (a stream with state that merges) and `lake` (Delta), each with client,
worker and server; `executors`, the same with executors of their own; `spark-4.1` and so on, a
sample on another Spark; `paused`, a worker past its lease; `left`, a client killed while its stream
goes on, and one that stops it; `races`, two clients at once. A reader looks on meanwhile, and sees
whole batches alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from campaigns.connect_kills.client import APPENDED, COUNTS, LAKE
from campaigns.connect_kills.kills import (
    CLIENT,
    EXECUTOR,
    LAKE_POINTS,
    POINTS,
    SERVER,
    WORKER,
    run,
)
from campaigns.connect_kills.owners import leave, pause, race
from campaigns.connect_kills.world import World
from campaigns.outcome import describe_bound
from lab import Postgres
from lab.scratch import scratch_directory
from lab.versions import installation_of
from lab.warm_up import ensure_archive

RACES = 50
VERSIONS = ("4.0", "4.1", "4.3")
"""The other versions of Spark."""


def run_kills(
    postgres: Postgres, directory: Path, shape: str, *, victims: tuple[str, ...], rounds: int = 1
) -> int:
    """Kill in every way; print what followed; return the kills."""
    found: Counter[tuple[str, str]] = Counter()
    began = time.monotonic()
    points = LAKE_POINTS if shape == LAKE else POINTS
    with World(postgres, directory, shape, has_executors=EXECUTOR in victims) as world:
        for victim, point, told in run(world, victims * rounds, points):
            found[victim, told] += 1
            click.echo(f"  {shape}: {victim} killed at {point}: {told}")
        looks, batches = world.looks, world.files
    for (victim, told), times in found.items():
        click.echo(f"{shape}: {victim} killed {times} times, {told}")
    click.echo(
        f"{shape}: {found.total()} kills, {batches} batches exact, 0 lost, 0 duplicated; {looks:,} "
        f"looks of a reader, each at whole batches; {time.monotonic() - began:.0f} s"
    )
    return found.total()


def run_on(version: str, postgres: Postgres, directory: Path) -> int:
    """Kill a worker and a server once in the middle of a stream with state, on another Spark."""
    installation = installation_of(version)
    ensure_archive(installation)
    with World(postgres, directory, COUNTS, installation=installation) as world:
        for victim, point, told in run(world, (CLIENT, WORKER, SERVER), ("copying", "S6")):
            click.echo(f"  {version}: {victim} killed at {point}: {told}")
        click.echo(f"Spark {version}: 6 kills, {world.files} batches exact, {world.looks} looks")
    return 6


def _parts(rounds: int, races: int) -> dict[str, Callable[[Postgres, Path], int]]:
    three = (CLIENT, WORKER, SERVER)
    return {
        shape: lambda postgres, directory, shape=shape: run_kills(
            postgres, directory, shape, victims=three, rounds=rounds
        )
        for shape in (APPENDED, COUNTS, LAKE)
    } | {
        "executors": lambda postgres, directory: run_kills(
            postgres, directory, APPENDED, victims=(EXECUTOR,), rounds=rounds
        ),
        **{f"spark-{version}": partial(run_on, version) for version in VERSIONS},
        "paused": pause,
        "left": leave,
        "races": lambda postgres, directory: race(postgres, directory, times=races),
    }


@click.command(help=__doc__)
@click.argument("parts", nargs=-1)
@click.option("--rounds", default=2, show_default=True, help="Of each kill.")
@click.option("--races", default=RACES, show_default=True, help="Of two clients.")
def main(parts: tuple[str, ...], *, rounds: int, races: int) -> None:
    """Run what is asked for, or all."""
    known = _parts(rounds, races)
    ensure_archive()
    kills = 0
    with Postgres() as postgres, scratch_directory() as scratch:
        for name in parts or tuple(known):
            kills += known[name](postgres, scratch / name)
    if kills:
        click.echo(describe_bound(kills))


if __name__ == "__main__":
    main()
