"""Pods that are stopped, killed and replaced, as Kubernetes does it, with a guarded stream inside.

    python -m campaigns.pods [--only WAY] [--rounds N] [--seed N]

A pod is a driver in pid, mount and UTS namespaces of its own: it is pid 1 there, and its host name
and boot id are no other pod's. All pods of a way use one root, and write into one table. Each round
replaces the running pod:

- graceful: SIGTERM, also in the middle of a batch. The pod must end within its grace period, and
  the next one must not wait for its lease.
- short-grace: SIGTERM in the middle of a batch, and SIGKILL before the pod can end. The next one
  must say at WARNING that it waits, and go on after one term of the lease at most.
- overlap: the next pod starts before the old one gets its SIGTERM. It must wait until that is gone.
- refused: the next pod starts and the old one stays. The next one must end with LEASE_HELD.
- same-name: the next pod has the old one's host name, as in a StatefulSet whose node is lost. It is
  pid 1 too, and must not take the old pod, which lives, for itself. Then the old one is killed.

At the end the table must hold every row exactly once. Needs root, and stops without.
"""

from __future__ import annotations

import json
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click
import psycopg

from benchmarks.measuring import exit_when_missed, spread
from campaigns.streams import until_stopped
from campaigns.streams.until_stopped import SIGTERM
from holdfast.drills.kill.waiting import wait_until
from holdfast.proof.multiset import Difference, compare
from holdfast.record.leases import TERM_S
from lab import Postgres
from lab.errors import PodsNeedRootError
from lab.faults.tcp_proxy import Action, TcpProxy
from lab.pod import Pod, check_pods
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

GRACE_S = 30.0
"""Kubernetes' own default."""
SHORT_GRACE_S = (0.2, 3.0)
SLACK_S = 15.0
"""What a start may take besides the wait for a lease, on a busy machine."""
SECONDS = 120.0
RUNNING = "running\n"
WAITS = "WARNING:holdfast:holdfast: ticks waits for the lease of"
REFUSED = "LeaseHeldError"
MOMENTS: tuple[tuple[bytes, Action], ...] = (
    (b"COPY ", "hold"),
    (b"COMMIT", "hold"),
    (b"COMMIT", "keep"),
)
"""Where a batch is caught: before COPY, before COMMIT, and when COMMIT's answer is on its way."""


@dataclass(kw_only=True)
class Stage:
    """Where the pods of one way run, one after the other."""

    directory: Path
    dsn: str
    proxy: TcpProxy
    choose: random.Random
    pods: ExitStack
    missed: list[str] = field(default_factory=list)
    exits: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    number: int = 0

    def start(self, host: str | None = None) -> Pod:
        """Start the next pod, under a host name that no other had unless one is given."""
        self.number += 1
        log = self.directory / f"pod-{self.number}.log"
        program = [sys.executable, until_stopped.__file__, str(self.directory / "streams"), SIGTERM]
        given = environment(self.directory / f"spark-{self.number}", {})
        name = host or f"stream-{self.choose.getrandbits(20):05x}-{self.number}"
        pod = Pod(name, program, environment={**given, "TICKS_DSN": self.dsn}, log=log)
        return self.pods.enter_context(pod)

    def catch_batch(self, pod: Pod, moment: tuple[bytes, Action]) -> None:
        """Wait until a batch of the pod is held at a moment; the proxy is to release it."""
        caught = self.proxy.at(*moment)
        wait_until(lambda: caught.is_fired or not pod.is_running, seconds=SECONDS)
        assert caught.is_fired, f"no batch was caught: {pod.said[-2_000:]}"

    def stop(self, pod: Pod, *, release: bool = False) -> None:
        """Send SIGTERM to a pod, which must end within its grace period, and well."""
        began = time.monotonic()
        pod.terminate()
        if release:
            self.proxy.release()
        if not pod.wait(GRACE_S):
            pod.kill()
            pod.wait()
        self.exits.append(time.monotonic() - began)
        self.expect(pod.exit_code == 0, f"{pod.host} ended with {pod.exit_code}")

    def await_next(self, pod: Pod) -> None:
        """Wait until the next pod has written a batch; it must hold the lease, as pid 1."""
        pod.wait_for(RUNNING)
        (seconds,) = re.findall(r"^started ([0-9.]+)", pod.said, re.MULTILINE)
        self.starts.append(float(seconds))
        self.expect(self.owner() == (pod.host, 1), f"{self.owner()} is the owner, not {pod.host}")

    def owner(self) -> tuple[str, int]:
        """Return the host name and the pid of the newest lease's owner."""
        newest = max((self.directory / "streams/_holdfast/ticks/leases").iterdir())
        owner = json.loads(newest.read_text())["owner"]
        return owner["host"], owner["pid"]

    def expect(self, holds: bool, otherwise: str) -> None:
        """Write down what does not hold."""
        if not holds:
            self.missed.append(otherwise)


def graceful(stage: Stage, old: Pod) -> Pod:
    """Stop a pod with enough time, and start the next."""
    moment = stage.choose.choice((None, *MOMENTS))
    if moment is not None:
        stage.catch_batch(old, moment)
    stage.stop(old, release=moment is not None)
    new = stage.start()
    stage.await_next(new)
    stage.expect(WAITS not in new.said, f"{new.host} waited for a lease")
    return new


def short_grace(stage: Stage, old: Pod) -> Pod:
    """Kill a pod in the middle of a batch, before it can stop, and start the next."""
    stage.catch_batch(old, stage.choose.choice(MOMENTS))
    began = time.monotonic()
    old.terminate()
    ended = old.wait(stage.choose.uniform(*SHORT_GRACE_S))
    stage.expect(not ended, f"{old.host} had ended before SIGKILL")
    if not ended:
        old.kill()
    old.wait()
    stage.exits.append(time.monotonic() - began)
    stage.proxy.release()
    new = stage.start()
    stage.await_next(new)
    stage.expect(f"{WAITS} {old.host}/1 " in new.said, f"{new.host} did not say that it waits")
    stage.expect(stage.starts[-1] < TERM_S + SLACK_S, f"{new.host} waited more than one term")
    return new


def overlap(stage: Stage, old: Pod) -> Pod:
    """Start the next pod while the old one runs, and then stop that."""
    new = stage.start()
    new.wait_for(f"{WAITS} {old.host}/1 ")
    stage.expect(stage.owner() == (old.host, 1), f"{new.host} took the lease from {old.host}")
    stage.stop(old)
    stage.await_next(new)
    return new


def refused(stage: Stage, old: Pod) -> Pod:
    """Start the next pod while the old one stays."""
    new = stage.start()
    new.wait_for(f"{WAITS} {old.host}/1 ")
    began = time.monotonic()
    stage.expect(new.wait(), f"{new.host} still waits")
    stage.starts.append(time.monotonic() - began)
    stage.expect(new.exit_code == 1 and REFUSED in new.said, f"{new.host} was not refused")
    stage.expect(stage.owner() == (old.host, 1), f"{new.host} took the lease from {old.host}")
    stage.expect(old.is_running, f"{old.host} has ended")
    return old


def same_name(stage: Stage, old: Pod) -> Pod:
    """Start a pod of the same name while the old one runs, and then kill that."""
    new = stage.start(old.host)
    new.wait_for(f"{WAITS} {old.host}/1 ")
    stage.expect(RUNNING not in new.said, "two pods run the stream at once")
    began = time.monotonic()
    old.kill()
    old.wait()
    stage.exits.append(time.monotonic() - began)
    stage.await_next(new)
    stage.expect(stage.starts[-1] < TERM_S + SLACK_S, f"{new.host} waited more than one term")
    return new


WAYS: dict[str, Callable[[Stage, Pod], Pod]] = {
    way.__name__.replace("_", "-"): way
    for way in (graceful, short_grace, overlap, refused, same_name)
}


@contextmanager
def open_stage(postgres: Postgres, directory: Path, *, seed: str) -> Iterator[Stage]:
    """Give a place with an empty table; what still runs there in the end is killed."""
    directory.mkdir()
    name = f"pods_{directory.name.replace('-', '_')}"
    with psycopg.connect(postgres.create_database(name)) as connection:
        connection.execute("CREATE TABLE ticks (value bigint)")
    with TcpProxy(postgres.port) as proxy, ExitStack() as pods:
        yield Stage(
            directory=directory,
            dsn=postgres.dsn(name, port=proxy.port),
            proxy=proxy,
            choose=random.Random(seed),  # noqa: S311 - it must be replayable
            pods=pods,
        )


def replace_pods(stage: Stage, way: str, *, rounds: int) -> Difference:
    """Replace the pod of a stage so many times in one way, and compare its table in the end."""
    pod = stage.start()
    pod.wait_for(RUNNING)
    for _ in range(rounds):
        pod = WAYS[way](stage, pod)
    pod.terminate()
    stage.expect(pod.wait(GRACE_S), f"{pod.host} did not end")
    with psycopg.connect(stage.dsn) as connection:
        rows = [(int(value),) for (value,) in connection.execute("SELECT value FROM ticks")]
    return compare([(value,) for value in range(max(rows)[0] + 1)], rows)


def describe(stage: Stage, found: Difference, *, way: str, rounds: int) -> str:
    """Return one line of the table."""
    shown = [spread(each).show() if each else "-" for each in (stage.exits, stage.starts)]
    rows = f"{found.missing:4} {found.duplicated + found.foreign:10}"
    return f"{way:12} {rounds:6}  {shown[0]:22} {shown[1]:22} {rows}"


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(list(WAYS)))
@click.option("--rounds", default=5, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(*, only: str | None, rounds: int, seed: int) -> None:
    """Replace pods in every way, and fail when rows are lost or duplicated, or a pod waits."""
    try:
        check_pods()
    except PodsNeedRootError as error:
        sys.exit(str(error))
    ensure_archive()
    missed: list[str] = []
    click.echo(f"{'way':12} rounds  {'exit, s':22} {'next start, s':22} lost duplicated")
    with scratch_directory() as scratch, Postgres() as postgres:
        for way in [only] if only else WAYS:
            with open_stage(postgres, scratch / way, seed=f"{seed} {way}") as stage:
                found = replace_pods(stage, way, rounds=rounds)
            click.echo(describe(stage, found, way=way, rounds=rounds))
            missed += [f"{way}: {each}" for each in stage.missed]
            missed += [] if found.exact else [f"{way}: {found}"]
        exit_when_missed(missed)


if __name__ == "__main__":
    main()
