"""`format("holdfast")` with one planned strike: in the planner, in a task, or where it commits.

Spark runs a data source in processes of its own, which no drill of a driver reaches. So this source
listens to Holdfast's events in each of them. The variable DATASOURCE_STRIKES names a directory: its
file `strike` has `MODE POINT`, where a point of a batch is `NAME@BATCH`, and what strikes makes the
file `fired` there first, and only once.

    driver   the driver, its JVM and this process get SIGKILL: as when a machine is lost
    jvm      the driver and its JVM get SIGKILL, and this process goes on when the JVM is gone
    worker   this process alone gets SIGKILL
    raise    the step raises an error
    slow     a task waits here until another attempt of it has written all its rows
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import TaskContext

from holdfast.datasource.source import HoldfastSource, HoldfastWriter
from holdfast.datasource.spark_process import driver_process
from holdfast.events.event import Event, PointReached, emit, listen

DIRECTORY = "DATASOURCE_STRIKES"
STRIKE, FIRED, GROUP, SECOND = "strike", "fired", "group", "second"
_LISTENING: list[int] = []


class PlannedError(Exception):
    """What a step raises."""


class StruckSource(HoldfastSource):
    """The data source, listened to; by another name, because Spark knows `holdfast` by itself."""

    @classmethod
    def name(cls) -> str:
        """Return what follows `format`."""
        return "holdfast_struck"

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802 - Spark's own
        """Return the writer of a batch, listened to."""
        listen_here()
        writer = super().streamWriter(schema, overwrite)
        writer.__class__ = StruckWriter
        return writer


class StruckWriter(HoldfastWriter):
    """One batch, listened to in its tasks too."""

    def write(self, iterator: Iterator[Any]) -> Any:
        """Stage the rows of a task."""
        listen_here()
        task = TaskContext.get()
        assert task is not None
        batch = task.getLocalProperty("streaming.sql.batchId")

        def passed_on() -> Iterator[Any]:
            for number, each in enumerate(iterator):
                yield each
                if number == 0:
                    emit(PointReached(f"task-rows@{batch}"))

        emit(PointReached(f"task-begin@{batch}"))
        answer = super().write(passed_on())
        emit(PointReached(f"task-end@{batch}"))
        return answer


def listen_here() -> None:
    """Strike in this process when the point is reached."""
    if os.getpid() not in _LISTENING:
        _LISTENING[:] = [os.getpid()]
        listen(_hear, may_raise=True)


def _hear(event: Event) -> None:
    home = Path(os.environ[DIRECTORY])
    mode, _, point = (home / STRIKE).read_text().partition(" ")
    batch = getattr(event, "batch", None)
    if mode == "slow":
        _tell_of_second(home, event)
    if point not in (name if batch is None else f"{name}@{batch}" for name in event.points()):
        return
    draft = home / f"{FIRED}.{os.getpid()}"
    draft.write_text(f"{os.getpid()} {_partition()}")
    try:
        (home / FIRED).hardlink_to(draft)
    except FileExistsError:
        return
    _strike(mode, home)


def _tell_of_second(home: Path, event: Event) -> None:
    """Say that another attempt of the slow task has come to its end."""
    if not any(name.startswith("task-end@") for name in event.points()):
        return
    if (home / FIRED).exists():
        pid, partition = (home / FIRED).read_text().split()
        if os.getpid() != int(pid) and partition == str(_partition()):
            (home / SECOND).touch()


def _partition() -> int:
    task = TaskContext.get()
    return -1 if task is None else task.partitionId()


def _strike(mode: str, home: Path) -> None:
    if mode == "raise":
        raise PlannedError("a planned error")
    if mode == "slow":
        while not (home / SECOND).exists():
            time.sleep(0.01)
        return
    if mode != "worker":
        jvm = driver_process().pid
        os.killpg(int((home / GROUP).read_text()), signal.SIGKILL)
        while mode == "jvm" and _is_running(jvm):
            time.sleep(0.01)
    if mode != "jvm":
        os.kill(os.getpid(), signal.SIGKILL)


def _is_running(pid: int) -> bool:
    """Return whether a process runs; one that has ended and is not reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
