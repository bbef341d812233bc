"""Tasks that fail, stand still or die with their executor, under every kind of sink: exact.

    python -m campaigns.executor_faults [--kills N] [--only SINK]

Each sink has a stream of its own on a standalone cluster with two workers. Batch by batch, a task
raises an error, an executor is killed with SIGKILL while it runs a task of the batch (ten times),
and a task stands still until Spark's copy of it has won. Where one task writes the batch, every
second kill strikes while that task's COPY is under way. A reader looks at the tables all the time,
and must see complete batches only.

A kill counts when the executor left its mark, its process is gone, its driver knows it as dead, and
another executor has registered in its place. If one does not count, the run fails.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import psutil
from msgspec.structs import replace

from benchmarks.measuring import exit_when_missed
from campaigns.executor_faults import faulty_tasks
from campaigns.executor_faults.faulty_tasks import (
    EXECUTORS,
    FILES_PER_BATCH,
    KILLED,
    KILLED_IN_COPY,
    RAISED,
    ROWS_PER_BATCH,
    STANDS_STILL,
    mark_of,
)
from campaigns.outcome import looks_of
from holdfast.drills.builtin.cells import BUILTIN, BuiltinStream, BuiltinSubject, look_at
from holdfast.drills.builtin.places import DSN_NAME
from holdfast.drills.builtin.workload import Shape, write_files
from holdfast.drills.checks import count_rows
from holdfast.drills.drill import Recording
from holdfast.drills.kill import Driver
from holdfast.drills.kill.driver import Running
from holdfast.drills.kill.waiting import wait_until
from holdfast.drills.polling_reader import polling_reader
from holdfast.sinks.collect import BUDGET_SETTING
from lab import Postgres
from lab.cluster import Cluster, executor_of, executor_settings
from lab.faults.tcp_proxy import TcpProxy
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

SECONDS = 1_800.0
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "200ms",
    "spark.speculation.task.duration.threshold": "5s",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of stream, and who writes its batches."""

    stream: BuiltinStream
    is_by_task: bool = False
    """Whether a task writes into PostgreSQL, as with a large batch, and not the driver."""

    def faults(self, kills: int) -> list[str]:
        """Return what happens, batch by batch."""
        ways = [KILLED, KILLED_IN_COPY] if self.is_by_task else [KILLED]
        killed = [ways[number % len(ways)] for number in range(kills)]
        return [RAISED, *killed, STANDS_STILL]


SINKS = {
    "PostgreSQL append, by the driver": Kind(stream=BUILTIN["postgres-append"]),
    "PostgreSQL append, by a task": Kind(stream=BUILTIN["postgres-append"], is_by_task=True),
    "PostgreSQL counts, RocksDB state": Kind(stream=BUILTIN["postgres-counts-rocksdb"]),
    "Delta append": Kind(stream=BUILTIN["delta-append"]),
    "Delta merge": Kind(stream=BUILTIN["delta-merge"]),
    "PostgreSQL and Delta in one stream": Kind(stream=BUILTIN["both-append"], is_by_task=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck:
    """What became of one stream."""

    kills: int
    lost: int
    duplicated: int
    looks: int
    wrong: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A stream whose tasks are struck."""

    subject: BuiltinSubject
    kind: Kind
    faults: Sequence[str]
    proxy: TcpProxy
    """Executors reach PostgreSQL through it."""
    through: str

    def run(self, settings: Mapping[str, str]) -> Struck:
        """Run the stream by one driver, with a reader beside it, and judge it."""
        recording = Recording(self.subject, self.subject.home / "history")
        look = partial(look_at, self.subject.open_places())
        with polling_reader(look, recording.write):
            recording.start()
            with self._driver(settings).start() as running:
                self._strike_in_copy(running)
                ended = running.wait()
        recording.end(running, ended)
        bad = [each for each in recording.check() if each.verdict.is_bad]
        lost, duplicated, unexpected = count_rows(recording.history)
        wrong = [f"{each.verdict.name} {each.check}: {each.told}" for each in bad]
        return Struck(
            kills=sum(fault in (KILLED, KILLED_IN_COPY) for fault in self.faults),
            lost=lost,
            duplicated=duplicated + unexpected,
            looks=looks_of(recording.history),
            wrong=wrong or list(self._not_struck()),
        )

    @property
    def _marks(self) -> Path:
        return self.subject.home / "marks"

    @property
    def _executors(self) -> Path:
        return self.subject.home / "executors.json"

    def _driver(self, settings: Mapping[str, str]) -> Driver:
        budget = {BUDGET_SETTING: "1"} if self.kind.is_by_task else {}
        config: dict[str, Any] = {
            **self.subject.config,
            "settings": {**self.subject.config["settings"], **budget},
            "marks": str(self._marks),
            "faults": self.faults,
            "executors": str(self._executors),
        }
        home = self.subject.home
        given = {**executor_settings({DSN_NAME: self.through}), **settings}
        return Driver(
            [faulty_tasks.__file__, json.dumps(config)],
            environment={
                **environment(home / "spark", given),
                DSN_NAME: str(self.subject.dsn),
                "SPARK_SCALA_VERSION": "2.13",  # else Spark looks for a build of itself
            },
            directory=home / "runs",
            seconds=SECONDS,
        )

    def _strike_in_copy(self, running: Running) -> None:
        """Kill the executor of each batch that is to be struck while its rows are copied."""
        for number, fault in enumerate(self.faults):
            if fault != KILLED_IN_COPY:
                continue
            middle = number * ROWS_PER_BATCH + ROWS_PER_BATCH // 2
            copied = self.proxy.at(struct.pack(">iq", 8, middle), "hold")
            wait_until(
                lambda held=copied: held.is_fired or not psutil.pid_exists(running.pid),  # type: ignore[misc]
                seconds=SECONDS,
            )
            if not copied.is_fired:
                return
            executor = executor_of(self.proxy.client())
            mark = Path(mark_of(str(self._marks), number, fault))
            mark.write_text(faulty_tasks.describe(executor))
            executor.kill()
            executor.wait(SECONDS)
            self.proxy.release()

    def _not_struck(self) -> Iterator[str]:
        """Yield which faults did not strike, by their marks and by what the driver knew."""
        executors = dict(json.loads(self._executors.read_text()))
        killed = set()
        for number, fault in enumerate(self.faults):
            mark = Path(mark_of(str(self._marks), number, fault))
            if not mark.exists():
                yield f"{mark.name} did not strike"
            elif fault in (KILLED, KILLED_IN_COPY):
                name, pid, began = mark.read_text().split()
                killed.add(name)
                if executors.get(name, True) or is_alive(int(pid), float(began)):
                    yield f"{mark.name}: executor {name} (pid {pid}) is not dead"
        replaced = len(executors) - EXECUTORS
        if replaced < len(killed):
            yield f"{len(killed)} executors were killed, and only {replaced} have replaced them"


def is_alive(pid: int, began: float) -> bool:
    """Return whether a process still runs; its number may have gone to another one."""
    try:
        return abs(psutil.Process(pid).create_time() - began) < 1
    except psutil.NoSuchProcess:
        return False


@contextmanager
def make_work(
    postgres: Postgres, directory: Path, *, sink: str, faults: Sequence[str]
) -> Iterator[Work]:
    """Write the files, and make what the sinks need; executors reach PostgreSQL by a proxy."""
    kind, name = SINKS[sink], f"executors_{uuid.uuid4().hex[:8]}"
    batches, dsn = len(faults) + 1, postgres.create_database(name)
    stream = replace(kind.stream, shape=_of_batches(kind.stream.shape))
    subject = BuiltinSubject(stream=stream, files=batches, home=directory, dsn=dsn)
    write_files(directory / "files", files=batches * FILES_PER_BATCH)
    (directory / "marks").mkdir()
    for place in subject.places:
        place.prepare()
    with TcpProxy(postgres.port) as proxy:
        through = postgres.dsn(name, port=proxy.port)
        yield Work(subject=subject, kind=kind, faults=faults, proxy=proxy, through=through)


def _of_batches(shape: Shape) -> Shape:
    """Return a shape whose parts are batches, of several files each."""
    return replace(
        shape,
        after=lambda batches: shape.after(batches * FILES_PER_BATCH),
        state=lambda batches: shape.state(batches * FILES_PER_BATCH),
    )


@click.command(help=__doc__)
@click.option("--kills", default=10, show_default=True, help="In each sink.")
@click.option("--only", type=click.Choice(list(SINKS)))
def main(*, kills: int, only: str | None) -> None:
    """Strike every sink, and print what became of its rows."""
    ensure_archive()
    missed: list[str] = []
    lines = []
    with scratch_directory() as scratch, Postgres() as postgres, Cluster() as cluster:
        for number, sink in enumerate([only] if only else SINKS):
            faults = SINKS[sink].faults(kills)
            home = scratch / str(number)
            with make_work(postgres, home, sink=sink, faults=faults) as work:
                struck = work.run({**cluster.settings(executors={}), **SPECULATION})
            missed += [f"{sink}: {each}" for each in struck.wrong]
            figures = f"{struck.kills:5} {struck.lost:5} {struck.duplicated:10}"
            lines.append(f"{sink:36}{figures} {struck.looks:6,}")
            click.echo("; ".join([lines[-1], *struck.wrong]), err=True)
        click.echo(f"{'sink':36}kills  lost duplicated  looks")
        click.echo("\n".join(lines))
        exit_when_missed(missed)
