"""Kills on Spark Connect: client, worker, server and executor, each at six points of the protocol.

    python -m campaigns.connect_kills [PART]...

Parts: `appended` and `counts` (a stream with state that merges), each with client, worker and
server; `executors`, the same with executors of their own; `paused`, a worker past its lease;
`races`, two clients at once. A reader looks on meanwhile, and sees whole batches alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import click

from campaigns.connect_kills.client import APPENDED, COUNTS
from campaigns.connect_kills.kills import CLIENT, EXECUTOR, SERVER, WORKER, run
from campaigns.connect_kills.owners import pause, race
from campaigns.connect_kills.world import World
from campaigns.outcome import describe_bound
from lab import Postgres
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

RACES = 50


def run_kills(
    postgres: Postgres, directory: Path, shape: str, *, victims: tuple[str, ...], rounds: int = 1
) -> int:
    """Kill in every way; print what followed; return the kills."""
    found: Counter[tuple[str, str]] = Counter()
    began = time.monotonic()
    with World(postgres, directory, shape, has_executors=EXECUTOR in victims) as world:
        for victim, point, told in run(world, victims * rounds):
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


def _parts(rounds: int, races: int) -> dict[str, Callable[[Postgres, Path], int]]:
    three = (CLIENT, WORKER, SERVER)
    return {
        shape: lambda postgres, directory, shape=shape: run_kills(  # type: ignore[misc]
            postgres, directory, shape, victims=three, rounds=rounds
        )
        for shape in (APPENDED, COUNTS)
    } | {
        "executors": lambda postgres, directory: run_kills(
            postgres, directory, APPENDED, victims=(EXECUTOR,), rounds=rounds
        ),
        "paused": pause,
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
