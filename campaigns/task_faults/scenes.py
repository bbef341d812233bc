"""Faults of the one task that writes a large batch: executors, sessions and drivers that die there.

    python -m campaigns.task_faults [SCENE...]

The scenes run on a standalone cluster, whose executors are processes of their own; the chain
`killed` runs in local mode and kills everything at once. All strike by what the task sends to
PostgreSQL, which a proxy sees. After every fault the table holds exactly the batches that the
ledger tells of; at the end every row exactly once.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil

from campaigns.judging import OF_ROWS, assert_passed, judge
from campaigns.outcome import describe
from campaigns.streams.driven import Driven
from campaigns.task_faults.workload import BATCHES, ROWS_PER_BATCH, Work, make_work
from holdfast.drills.drill import Drilled, run_drill
from holdfast.drills.kill.driver import RUN_SECONDS, Running
from holdfast.drills.kill.waiting import wait_until
from lab import Postgres
from lab.cluster import Cluster, executor_of
from lab.faults.tcp_proxy import Action, TcpRequest
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

IN_COPY = f"end of {ROWS_PER_BATCH // 2}".encode()
KILLED = "killed"
"""The chain that kills everything at once."""
_LOST = "Lost task 0.0"
_SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    # Of a stage with one task only this one counts.
    "spark.speculation.task.duration.threshold": "5s",
    # A host that stands still answers no request for its blocks.
    "spark.network.timeout": "20s",
    "spark.network.timeoutInterval": "10s",
    "spark.executor.heartbeatInterval": "5s",
}


def held(work: Work, running: Running, mark: bytes, *, action: Action = "hold") -> psutil.Process:
    """Wait until the task's session is held at what it sends; return the task's Python process."""
    happened = work.proxy.at(mark, action)
    assert wait_until(
        lambda: happened.is_fired or not psutil.pid_exists(running.pid), seconds=RUN_SECONDS
    )
    assert happened.is_fired, running.log.read_text()[-5_000:]
    return work.proxy.client()


def finish(work: Work, running: Running) -> str:
    """Wait for the end, which must be a good one with every row once; return the driver's log."""
    ended = running.wait()
    assert ended.status == 0, ended.log.read_text()[-5_000:]
    judge(work)
    return ended.log.read_text()


def session_ended(work: Work, cluster: Cluster) -> str:
    """The server ends the task's session in COPY."""
    with work.on_cluster(cluster).start() as running:
        held(work, running, IN_COPY)
        ended = work.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE query LIKE 'COPY%' AND application_name LIKE 'holdfast-%'"
        )
        assert ended == [(True,)]
        work.proxy.release()
        log = finish(work, running)
    assert _LOST in log
    # A client that is still sending finds its session gone, and not what the server said last.
    assert "AdminShutdown" in log or "the connection is lost" in log
    return "the second attempt wrote it"


def executor_killed(work: Work, cluster: Cluster, *, mark: bytes, action: Action) -> str:
    """The task's executor is killed with its session at some request."""
    with work.on_cluster(cluster).start() as running:
        worker = held(work, running, mark, action=action)
        executor_of(worker).kill()
        worker.wait(RUN_SECONDS)
        before = work.batches()
        work.proxy.release()
        log = finish(work, running)
    assert _LOST in log
    return f"the second attempt {'skipped' if before else 'wrote'} it"


def executor_killed_in_copy(work: Work, cluster: Cluster) -> str:
    """The task's executor is killed in COPY."""
    return executor_killed(work, cluster, mark=IN_COPY, action="hold")


def executor_killed_after_commit(work: Work, cluster: Cluster) -> str:
    """The task's executor is killed when the server has committed and before the task knows."""
    told = executor_killed(work, cluster, mark=b"COMMIT", action="keep")
    assert "skipped" in told
    return told


def session_left_open(work: Work, cluster: Cluster) -> str:
    """The task's host is gone in COPY, and the server is not told: its session stays open."""
    with work.on_cluster(cluster).start() as running:
        worker = held(work, running, IN_COPY)
        executor_of(worker).kill()
        worker.wait(RUN_SECONDS)
        began = time.monotonic()
        finish(work, running)
        took = time.monotonic() - began
        work.proxy.release()
    judge(work)
    return f"the second attempt ended the session, and was done after {took:.0f} s"


def copy_of_a_task(work: Work, cluster: Cluster) -> str:
    """The task's Python process stands still in COPY, and Spark starts a copy of the task."""
    with work.on_cluster(cluster, _SPECULATION).start() as running:
        worker = held(work, running, IN_COPY)
        worker.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        work.proxy.release()
        finish(work, running)
        took = time.monotonic() - began
        with suppress(psutil.NoSuchProcess):
            worker.send_signal(signal.SIGCONT)
            worker.wait(RUN_SECONDS)
    judge(work)
    return f"the copy ended the first and wrote it, {took:.0f} s after it stood still"


def host_stands_still(work: Work, cluster: Cluster) -> str:
    """The task's whole executor stands still in COPY, and wakes up when all is done."""
    with work.on_cluster(cluster, _SPECULATION).start() as running:
        worker = held(work, running, IN_COPY)
        still = halt(worker)
        work.proxy.release()
        finish(work, running)
        wake(still)
    judge(work)
    return "another attempt ended the first and wrote it; awake again it wrote nothing"


def orphan(work: Work, cluster: Cluster) -> str:
    """The driver is killed with the task in COPY; its executors go on until they notice."""
    with work.on_cluster(cluster).start() as running:
        worker = held(work, running, IN_COPY)
        executor = executor_of(worker)
        running.kill()
        began = time.monotonic()
        work.proxy.release()
        running.wait()
        executor.wait(RUN_SECONDS)
        took = time.monotonic() - began
    there = work.batches()
    judge(work, checks=OF_ROWS)
    with work.on_cluster(cluster).start() as running:
        finish(work, running)
    return f"the executor ended {took:.1f} s after its driver, with {there} batches written"


def orphan_stands_still(work: Work, cluster: Cluster) -> str:
    """The driver is killed, and what ran its task stands still and wakes up after the next one."""
    with work.on_cluster(cluster).start() as running:
        worker = held(work, running, IN_COPY)
        still = halt(worker)
        work.proxy.release()
        running.kill()
        running.wait()
    with work.on_cluster(cluster).start() as running:
        finish(work, running)
    wake(still)
    judge(work)
    epochs = work.execute("SELECT DISTINCT epoch FROM holdfast.history")
    assert epochs == [(2,)], epochs
    return "the next driver ended its session; awake again it wrote nothing"


def source_fails(work: Work, cluster: Cluster) -> str:
    """Kept rows are lost with their executor while the task writes, and reading them again fails.

    The task sees only the end of its rows, and must not take that for the end of the batch.
    """
    with work.on_cluster(cluster).start() as running:
        mine = executor_of(held(work, running, b"COPY "))
        executors = [each for worker in cluster.workers for each in worker.executors()]
        (other,) = (each for each in executors if each.pid != mine.pid)
        work.broken.touch()
        other.kill()
        assert wait_until(lambda: not other.is_running(), seconds=RUN_SECONDS)
        work.proxy.release()
        log = finish(work, running)
    assert not work.broken.exists(), "nothing was read again"
    assert _LOST in log
    assert "the source is gone" in log
    return "the first attempt committed nothing; the second wrote it"


def halt(worker: psutil.Process) -> list[psutil.Process]:
    """Stop a task's Python process, its daemon and its executor; return them."""
    executor = executor_of(worker)
    still = [executor, *executor.children(recursive=True)]
    for process in still:
        process.send_signal(signal.SIGSTOP)
    return still


def wake(still: list[psutil.Process]) -> None:
    """Let processes go on, and wait until each has ended."""
    for process in reversed(still):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGCONT)
    _, alive = psutil.wait_procs(still, timeout=RUN_SECONDS)
    assert not alive, alive


Scene = Callable[[Work, Cluster], str]
SCENES: dict[str, Scene] = {
    scene.__name__: scene
    for scene in (
        session_ended,
        executor_killed_in_copy,
        executor_killed_after_commit,
        source_fails,
        orphan,
        orphan_stands_still,
        session_left_open,
        copy_of_a_task,
        host_stands_still,
    )
}
QUICK = list(SCENES)[:5]
"""The others wait for a lock or a lease to time out."""


MARKS = [
    TcpRequest("before", b"SET LOCAL"),
    TcpRequest("before", b"FOR UPDATE"),
    TcpRequest("after", b"FOR UPDATE"),
    TcpRequest("before", b"COPY "),
    TcpRequest("before", IN_COPY),
    TcpRequest("before", b"UPDATE holdfast.ledger"),
    TcpRequest("after", b"UPDATE holdfast.ledger"),
    TcpRequest("after", b"INSERT INTO holdfast.history"),
    TcpRequest("before", b"COMMIT"),  # it arrives when its driver is gone
    TcpRequest("after", b"COMMIT"),
]
"""Where everything is killed at once: by what the task sends."""


def kill_at(work: Work, marks: Sequence[TcpRequest]) -> Drilled:
    """Kill a driver in local mode at each mark in turn, then let it run to its end."""
    settings = {"spark.executorEnv.READINGS_DSN": work.through}
    subject = Driven(work=work, driver=work.driver(settings, dsn=work.dsn))
    return run_drill(KILLED, subject, marks, directory=work.directory / "history")


def main(names: list[str]) -> None:
    """Run the scenes, and print what became of each."""
    ensure_archive()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(scratch_directory()))
        postgres, cluster = stack.enter_context(Postgres()), stack.enter_context(Cluster())
        for name in names or [*SCENES, KILLED]:
            with make_work(postgres, scratch / name) as work:
                if name == KILLED:
                    drilled = kill_at(work, MARKS)
                    print(describe(drilled), flush=True)
                    assert_passed(drilled.checked)
                    continue
                told = SCENES[name](work, cluster)
                print(f"{name}: {told}; {ROWS_PER_BATCH * BATCHES:,} rows, exact", flush=True)
