"""Who owns a stream on Spark Connect: a worker past its lease, and two clients at once."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import click
import psutil

from campaigns.connect_kills.client import APPENDED
from campaigns.connect_kills.world import WAIT_SECONDS, World
from holdfast.drills.kill.waiting import wait_until
from lab import Postgres

PAUSES = ("S1", "S2", "copying", "S5")


def pause(postgres: Postgres, directory: Path) -> int:
    """Pause a worker at each point past its lease, replace it, and resume it: it writes nothing."""
    for number, point in enumerate(PAUSES):
        with World(postgres, directory / str(number), APPENDED) as world, world.watched():
            world.add(3)
            world.server.aim(point, 2, signal="STOP")
            first = world.client()
            assert wait_until(world.server.struck.exists, seconds=WAIT_SECONDS), first.said()
            sleeper = psutil.Process(int(world.server.struck.read_text()))
            second = world.client()  # waits until the lease has run out
            assert second.wait() == 0, second.said()
            world.judge()
            sleeper.resume()
            ended = first.wait()
            assert ended != 0, f"the client whose worker was paused at {point} ended well"
            world.judge()
        click.echo(f"a worker paused at {point}: replaced, resumed and refused; exact")
    return 0


def race(postgres: Postgres, directory: Path, *, times: int) -> int:
    """Start two clients at once, again and again: one owns the stream, and each row is there once.

    The other one waits for the lease, and finds nothing to do once the first has ended.
    """
    found: Counter[str] = Counter()
    with World(postgres, directory, APPENDED) as world, world.watched():
        began = time.monotonic()
        for _ in range(times):
            world.add(2)
            clients = [world.client(), world.client()]
            codes = [each.wait() for each in clients]
            assert 0 in codes, [each.said() for each in clients]
            world.judge()
            found["both ended, one after the other" if codes == [0, 0] else "one was refused"] += 1
        for told, count in found.items():
            click.echo(f"two clients at once, {told}: {count} times")
        click.echo(f"{times} races, {world.files} batches exact; {time.monotonic() - began:.0f} s")
    return 0
