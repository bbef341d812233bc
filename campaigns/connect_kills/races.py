"""Two clients of one Spark Connect server that start the same stream at once, again and again."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import click

from campaigns.connect_kills.client import APPENDED, RACES
from campaigns.connect_kills.world import World
from lab import Postgres


def race(postgres: Postgres, directory: Path, *, times: int, options: str = "") -> int:
    """Start two clients at once: one owns the stream, and each row is there once.

    Both live through all races, each with a session of its own, and start when they are told. The
    one that is not first waits for the lease, and finds nothing to do once the first has ended.
    With `takeover` as an option the last one that comes replaces the other, wherever that is.
    """
    found: Counter[str] = Counter()
    began = time.monotonic()
    with World(postgres, directory, APPENDED) as world, world.watched():
        racers = [world.client(RACES), world.client(RACES)]
        for number in range(times):
            world.add(2)
            for each in racers[:: 1 if number % 2 else -1]:
                each.go(options)
            told = sorted(each.raced() for each in racers)
            found[" and ".join(told)] += 1
            if options and world.rows() != world.expected(world.files):
                racers[0].go()  # each can have stopped the other, as any two that take over
                assert racers[0].raced() == "ended", racers[0].said()
            assert options or "ended" in told, [each.said() for each in racers]
            world.judge()
        for each in racers:
            each.kill()
    for how, count in found.most_common():
        click.echo(f"two clients at once {options}: {how}: {count} times")
    click.echo(
        f"{times} races {options}, {world.files} batches exact, {world.looks:,} looks; "
        f"{time.monotonic() - began:.0f} s"
    )
    return 0
