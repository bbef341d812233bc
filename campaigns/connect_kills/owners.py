"""Who owns a stream on Spark Connect: a worker past its lease, and two clients at once."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import click
import psutil

from campaigns.connect_kills.client import APPENDED
from campaigns.connect_kills.world import WAIT_SECONDS, World
from holdfast.drills.kill.waiting import wait_until
from lab import Postgres

PAUSES = ("S1", "S2", "copying", "S5")
REFUSED = 3
"""How a client ends that Holdfast has refused."""


def pause(postgres: Postgres, directory: Path) -> int:
    """Pause a worker at each point past its lease, replace it, and resume it: it writes nothing.

    The second client is on another server: one server stops the older query by itself.
    """
    with World(postgres, directory, APPENDED) as world, ExitStack() as opened:
        other = opened.enter_context(world.another_server())
        with world.watched():
            for point in PAUSES:
                world.add(3)
                world.server.aim(point, 2, signal="STOP")
                first = world.client()
                assert wait_until(world.server.struck.exists, seconds=WAIT_SECONDS), first.said()
                sleeper = psutil.Process(int(world.server.struck.read_text()))
                second = world.client(server=other)  # waits until the lease has run out
                assert second.wait() == 0, second.said()
                world.judge()
                sleeper.resume()
                assert first.wait() != 0, f"paused at {point}, and its client ended well"
                world.judge()
                click.echo(f"a worker paused at {point}: replaced, resumed and refused; exact")
    return 0


def leave(postgres: Postgres, directory: Path) -> int:
    """Kill a client: the next one finds the owner, is refused, and then takes the stream over.

    Then a client stops its stream: the worker is gone, and the lease is free.
    """
    with World(postgres, directory, APPENDED) as world, world.watched():
        world.add(2)
        first = world.client("for-ever")
        first.wait_until_started()
        workers = {each.pid: each for each in world.server.workers()}
        first.kill()
        world.add(2)
        assert wait_until(lambda: world.rows() == world.expected(4), seconds=WAIT_SECONDS)
        second = world.client()
        assert second.wait() == REFUSED, second.said()
        owners = [each for pid, each in workers.items() if f"/{pid} runs it" in second.said()]
        assert len(owners) == 1, second.said()
        world.add(1)
        third = world.client("takeover")
        assert third.wait() == 0, third.said()
        assert wait_until(lambda: not owners[0].is_running(), seconds=WAIT_SECONDS)
        world.judge()
        click.echo("client killed: the stream went on; found, refused, and taken over; exact")
        world.add(2)
        fourth = world.client("for-ever", "stops")
        assert fourth.wait() == 0, fourth.said()
        began = time.monotonic()
        assert wait_until(lambda: not world.server.workers(), seconds=WAIT_SECONDS)
        click.echo(f"stop(): the worker was gone {time.monotonic() - began:.1f} s after the client")
        world.add(1)
        last = world.client()
        assert last.wait() == 0, last.said()
        world.judge()
    return 1


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
