"""Kills of a client, a worker, a server or an executor at a point of a batch, and what follows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import psutil

from campaigns.connect_kills.world import WAIT_SECONDS, Started, World
from holdfast.drills.kill.waiting import wait_until

CLIENT, WORKER, SERVER, EXECUTOR = "client", "worker", "server", "executor"
POINTS = ("S1", "S2", "copying", "S4", "S5", "S6")
LAKE_POINTS = ("S1", "S2", "S3", "S6", "sink-written", "S7")
"""Of a Delta table, whose rows the server itself commits."""


def kill(world: World, victim: str, point: str) -> str:
    """Kill one of the processes while the second batch of a run is at a point.

    What the worker does not do itself is done while it is halted there. The next client, which is
    started by the caller, has to find everything as it was left.

    Returns:
        What became of the others.
    """
    world.add(3)
    is_halted = victim in (CLIENT, EXECUTOR)
    aimed = {"victim": WORKER, "signal": "STOP"} if is_halted else {"victim": victim}
    world.server.aim(point, 2, **aimed)
    client = world.client()
    struck = world.server.struck
    wait_until(lambda: struck.exists() or _has_ended(client), seconds=WAIT_SECONDS)
    assert struck.exists(), f"{victim} at {point} was not struck: {client.said()}"
    if victim == WORKER:
        assert client.wait() != 0, client.said()
        return "the query failed"
    if victim == SERVER:
        return _after_the_server(world, client)
    worker = psutil.Process(int(struck.read_text()))
    if victim == CLIENT:
        client.kill()
        worker.resume()
        assert wait_until(lambda: not worker.is_running(), seconds=WAIT_SECONDS)
        world.judge()
        return "the stream went on to its end"
    executors = world.server.executors()
    assert executors, "there is no executor"
    executors[0].kill()
    worker.resume()
    failed = client.wait()
    return "the query failed" if failed else "the batch was computed again"


def run(
    world: World, victims: Sequence[str], points: Sequence[str] = POINTS
) -> Iterator[tuple[str, str, str]]:
    """Kill each at each point, with a reader that looks on; then run to the end and judge."""
    with world.watched():
        for victim in victims:
            for point in points:
                yield victim, point, kill(world, victim, point)
        world.add()
        last = world.client()
        assert last.wait() == 0, last.said()
    world.judge()


def _has_ended(client: Started) -> bool:
    return client.process.poll() is not None


def _after_the_server(world: World, client: Started) -> str:
    """Wait until the orphan has ended, without a commit, and start the server again."""
    before, pid = world.rows(), int(world.server.struck.read_text())
    with suppress(psutil.NoSuchProcess):  # it can have seen the end of its server already
        worker = psutil.Process(pid)
        wait_until(lambda: worker.status() == psutil.STATUS_STOPPED, seconds=WAIT_SECONDS)
        worker.resume()
        assert wait_until(lambda: not _runs(worker), seconds=WAIT_SECONDS), "the orphan lives on"
    assert world.rows() == before, "the orphan has committed"
    client.kill()  # it would try to reach the server for minutes
    world.server.crash()
    world.server.start()
    return "its orphan wrote nothing, and ended"


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
