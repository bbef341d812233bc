"""Kills of a client, a worker, a server or an executor at a point of a batch, and what follows."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress

import psutil

from campaigns.connect_kills.client import FRAGILE, FUSE
from campaigns.connect_kills.world import WAIT_SECONDS, Started, World
from holdfast.drills.kill.waiting import wait_until
from lab.faults.tcp_proxy import TcpProxy

CLIENT, WORKER, SERVER, EXECUTOR = "client", "worker", "server", "executor"
THREE = (CLIENT, WORKER, SERVER)
PAUSED, CUT = "client (paused)", "client (cut off)"
ABSENT = (CLIENT, PAUSED, CUT)
POINTS = ("S1", "S2", "copying", "S4", "S5", "S6")
LAKE_POINTS = ("S1", "S2", "S3", "S6", "sink-written", "S7")
"""Of a Delta table, whose rows the server itself commits."""
TASK = "its own task"
EXECUTOR_POINTS = (*POINTS, TASK)


def kill(world: World, victim: str, point: str) -> str:
    """Kill one of the processes while the second batch of a run is at a point.

    What the worker does not do itself is done while it is halted there. The next client, which is
    started by the caller, has to find everything as it was left.

    Returns:
        What became of the others.
    """
    world.add(3)
    if point == TASK:
        return _in_a_task(world)
    is_halted = victim in (*ABSENT, EXECUTOR)
    aimed = {"victim": WORKER, "signal": "STOP"} if is_halted else {"victim": victim}
    world.server.aim(point, 2, **aimed)
    with ExitStack() as stack:
        proxy = stack.enter_context(TcpProxy(world.server.port)) if victim == CUT else None
        client = world.client(address=f"sc://127.0.0.1:{proxy.port}" if proxy else "")
        struck = world.server.struck
        wait_until(lambda: struck.exists() or _has_ended(client), seconds=WAIT_SECONDS)
        assert struck.exists(), f"{victim} at {point} was not struck: {client.said()}"
        if victim == WORKER:
            assert client.wait() != 0, client.said()
            return "the query failed"
        if victim == SERVER:
            return _after_the_server(world, client)
        worker = psutil.Process(int(struck.read_text()))
        if victim == EXECUTOR:
            return _without_executor(world, client, worker)
        stack.close()  # cuts it off
        return _without_client(world, client, worker, victim=victim)


def _without_client(world: World, client: Started, worker: psutil.Process, *, victim: str) -> str:
    """Kill or pause the client, unless it is cut off; the stream must end as if it were there."""
    if victim == PAUSED:
        client.process.send_signal(signal.SIGSTOP)
    elif victim == CLIENT:
        client.kill()
    worker.resume()
    assert wait_until(lambda: not worker.is_running(), seconds=WAIT_SECONDS)
    world.judge()
    if victim == PAUSED:
        client.process.send_signal(signal.SIGCONT)
        assert client.wait() == 0, client.said()
    client.kill()
    return "the stream went on to its end"


def _in_a_task(world: World) -> str:
    """Have a task kill the executor that it runs on; what the task had done is done again."""
    fuse = world.home / FUSE
    fuse.touch()
    client = world.client(FRAGILE)
    assert client.wait() == 0, client.said()
    assert not fuse.exists(), "no task has killed its executor"
    world.judge()
    return "the task ran again"


def _without_executor(world: World, client: Started, worker: psutil.Process) -> str:
    executors = world.server.executors()
    assert executors, "there is no executor"
    executors[0].kill()
    worker.resume()
    failed = client.wait()
    return "the query failed" if failed else "the query went on"


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
