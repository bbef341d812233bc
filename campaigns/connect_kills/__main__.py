"""Kills on Spark Connect: client, worker, server and executor, each at six points of the protocol.

    python -m campaigns.connect_kills [PART]...

Parts: `appended`, `counts` (a stream with state that merges), `lake` (Delta) and `lake-counts`
(MERGE into Delta), each with client, worker and server; `executors`, which are processes of their
own; `absent`, clients that are paused or cut off; `spark-4.0` and so on, a short chain of three of
the streams on another Spark, and `versions`, all of those; `paused`, a worker past its lease, and
`taken`, one that is replaced before; `left`, a client killed while its stream goes on, and one that
stops it; `races`, two clients at once, and `takeovers`, both with `takeover=True`; `late`, another
driver that replaces `offsets/N` before a batch is written. A reader looks on meanwhile, and sees
whole batches alone; with `late` it looks at the end.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import click

from campaigns.connect_kills.client import APPENDED, COUNTS, LAKE, LAKE_COUNTS
from campaigns.connect_kills.kills import (
    CUT,
    EXECUTOR,
    EXECUTOR_POINTS,
    LAKE_POINTS,
    PAUSED,
    POINTS,
    THREE,
    run,
)
from campaigns.connect_kills.late import run_late
from campaigns.connect_kills.owners import leave, pause, take_over
from campaigns.connect_kills.races import race
from campaigns.connect_kills.versions import VERSIONS, run_on
from campaigns.connect_kills.world import World
from campaigns.outcome import describe_bound
from lab import Postgres
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

RACES = 50
ON_VERSIONS = "versions"
SHAPES = (APPENDED, COUNTS, LAKE, LAKE_COUNTS)


def run_kills(
    postgres: Postgres, directory: Path, shape: str, *, victims: tuple[str, ...], rounds: int = 1
) -> int:
    """Kill in every way; print what followed; return the kills."""
    found: Counter[tuple[str, str]] = Counter()
    began = time.monotonic()
    points: Sequence[str] = LAKE_POINTS if shape in (LAKE, LAKE_COUNTS) else POINTS
    if EXECUTOR in victims:
        points = EXECUTOR_POINTS
    with World(postgres, directory, shape, has_executors=EXECUTOR in victims) as world:
        for victim, point, told in run(world, victims * rounds, points):
            found[victim, told] += 1
            click.echo(f"  {shape}: {victim} struck at {point}: {told}")
        looks, batches = world.looks, world.files
    for (victim, told), times in found.items():
        click.echo(f"{shape}: {victim} struck {times} times, {told}")
    click.echo(
        f"{shape}: {found.total()} strikes, {batches} batches exact, 0 lost, 0 duplicated; "
        f"{looks:,} looks of a reader, each at whole batches; {time.monotonic() - began:.0f} s"
    )
    return found.total()


def leave_alone(postgres: Postgres, directory: Path, *, rounds: int = 1) -> int:
    """Pause a client at each point, and cut it off: no kill, and the stream goes on without it."""
    run_kills(postgres, directory, APPENDED, victims=(PAUSED, CUT), rounds=rounds)
    return 0


def _parts(rounds: int, races: int) -> dict[str, Callable[[Postgres, Path], int]]:
    kills = partial(run_kills, rounds=rounds)
    return {
        **{shape: partial(kills, shape=shape, victims=THREE) for shape in SHAPES},
        "absent": partial(leave_alone, rounds=rounds),
        "executors": partial(kills, shape=COUNTS, victims=(EXECUTOR,)),
        **{f"spark-{each}": partial(run_on, each, rounds=rounds) for each in VERSIONS},
        "paused": pause,
        "taken": take_over,
        "left": leave,
        "races": partial(race, times=races),
        "takeovers": partial(race, times=races, options="takeover"),
        "late": run_late,
    }


@click.command(help=__doc__)
@click.argument("parts", nargs=-1)
@click.option("--rounds", default=2, show_default=True, help="Of each kill.")
@click.option("--races", default=RACES, show_default=True, help="Of two clients.")
def main(parts: tuple[str, ...], *, rounds: int, races: int) -> None:
    """Run what is asked for, or all."""
    known = _parts(rounds, races)
    if ON_VERSIONS in parts:
        each_version = (f"spark-{each}" for each in VERSIONS)
        parts = (*(each for each in parts if each != ON_VERSIONS), *each_version)
    ensure_archive()
    kills = 0
    with Postgres() as postgres, scratch_directory() as scratch:
        for name in parts or tuple(known):
            kills += known[name](postgres, scratch / name)
    if kills:
        click.echo(describe_bound(kills))


if __name__ == "__main__":
    main()
