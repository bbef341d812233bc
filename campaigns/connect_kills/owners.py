"""Who owns a stream on Spark Connect: a worker past its lease, or one that is replaced."""

from __future__ import annotations

import time
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
    _replace(postgres, directory)
    return 0


def take_over(postgres: Postgres, directory: Path) -> int:
    """Replace a paused worker with `takeover=True` at once, while its lease is still held."""
    _replace(postgres, directory, "takeover")
    return 0


def _replace(postgres: Postgres, directory: Path, *options: str) -> None:
    with World(postgres, directory, APPENDED) as world, ExitStack() as opened:
        other = opened.enter_context(world.another_server())
        with world.watched():
            for point in PAUSES:
                world.add(3)
                world.server.aim(point, 2, signal="STOP")
                first = world.client()
                assert wait_until(world.server.struck.exists, seconds=WAIT_SECONDS), first.said()
                sleeper = psutil.Process(int(world.server.struck.read_text()))
                began = time.monotonic()
                second = world.client(
                    *options, address=other.address
                )  # or waits for the end of the lease
                assert second.wait() == 0, second.said()
                waited = time.monotonic() - began
                world.judge()
                sleeper.resume()
                assert first.wait() != 0, f"paused at {point}, and its client ended well"
                told = first.said().strip().splitlines()[-1]
                world.judge()
                click.echo(
                    f"a worker paused at {point}: replaced {' '.join(options)}, in {waited:.0f} s "
                    f"with all batches, resumed and refused; exact; its client: {told[:100]}"
                )
        click.echo(f"{len(PAUSES)} pauses, {world.files} batches exact, {world.looks:,} looks")


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
        world.add(2)
        fifth = world.client("unwatched")
        assert fifth.wait() == 0, fifth.said()
        assert wait_until(lambda: world.rows() == world.expected(world.files), seconds=WAIT_SECONDS)
        click.echo("a client that ended without stop(): the stream went on to its end; exact")
        world.add(1)
        last = world.client()
        assert last.wait() == 0, last.said()
        world.judge()
    return 1
