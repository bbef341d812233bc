"""Two warm drivers, each behind a proxy, and how one race between them ends."""

from __future__ import annotations

import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaigns.log_store_races import writing_driver
from holdfast.drills.builtin.delta_table import DeltaTable
from holdfast.sinks.delta.log_store import LOG_STORE, SETTING
from holdfast.storage.options import from_hadoop
from holdfast.storage.write import open_writer
from lab import S3
from lab.faults.s3_proxy import S3Proxy
from lab.log_store import log_store_jar
from lab.s3 import BUCKET
from lab.spark import environment

COMMIT = r"_delta_log/\d{20}\.json$"
OURS = {SETTING: LOG_STORE}
_SECONDS = 120.0
"""Until an answer must be there: a driver that is silent has failed."""


class Driver:
    """One process that appends a row when it is told to."""

    def __init__(
        self, proxy: S3Proxy, *, name: str, table: str, settings: Mapping[str, str], place: Path
    ) -> None:
        """Start it; its Spark is not up yet."""
        self.name = name
        self.proxy = proxy
        place.mkdir(parents=True)
        self._log = (place / "log").open("w")
        self._process = subprocess.Popen(
            [sys.executable, writing_driver.__file__, table, name],
            env={**os.environ, **environment(place, settings, log_level="error")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)

    def go(self, race: int, application: str) -> None:
        """Have it append the row of a race."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{race} {application}\n")
        self._process.stdin.flush()

    def answer(self) -> str:
        """Wait for its next line."""
        return self._answers.get(timeout=_SECONDS)

    def told(self) -> dict[str, Any]:
        """Wait for what Delta said."""
        found: dict[str, Any] = json.loads(self.answer())
        return found

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the driver and its JVM."""
        os.killpg(self._process.pid, number)

    def end(self) -> None:
        """Kill it."""
        self.send(signal.SIGKILL)
        self._process.wait()
        self._log.close()


@dataclass(kw_only=True)
class Tally:
    """What became of the races so far."""

    races: int = 0
    winners: Counter[int] = field(default_factory=Counter)
    """How many drivers were told that they had committed one and the same version."""
    replaced: int = 0
    """Rows that a driver was told are committed, and that a reader does not find."""
    unexpected: int = 0
    """Rows that are there although their driver was told otherwise, or that are there twice."""


@dataclass(kw_only=True)
class Course:
    """A table, and two drivers that write to it."""

    drivers: tuple[Driver, Driver]
    reader: DeltaTable
    promised: Counter[tuple[object, ...]] = field(default_factory=Counter)
    """The rows that drivers were told are in."""

    def at_once(self, race: int, *, rivals: bool) -> list[dict[str, Any]]:
        """Start both in the same moment."""
        self._go(race, self.drivers, rivals=rivals)
        return [each.told() for each in self.drivers]

    def together(self, race: int, *, rivals: bool) -> list[dict[str, Any]]:
        """Hold the commit of each until both have come, and then let both go on to the store."""
        held = [each.proxy.hold(COMMIT) for each in self.drivers]
        self._go(race, self.drivers, rivals=rivals)
        for each in held:
            each.arrived.wait()
        for each in held:
            each.release()
        return [each.told() for each in self.drivers]

    def paused(self, race: int, *, rivals: bool) -> list[dict[str, Any]]:
        """Pause the first with its commit on the way to the store, until the second has ended."""
        first, second = self.drivers
        held = first.proxy.hold(COMMIT)
        self._go(race, (first,), rivals=rivals)
        held.arrived.wait()
        first.send(signal.SIGSTOP)
        self._go(race, (second,), rivals=rivals)
        of_second = second.told()
        held.release()
        first.send(signal.SIGCONT)
        return [first.told(), of_second]

    def judge(self, race: int, told: list[dict[str, Any]], tally: Tally) -> None:
        """Count a race: what the drivers were told beside what a reader of the table finds."""
        tally.races += 1
        won = [each["version"] for each in told if each["told"] == "won"]
        tally.winners[max(Counter(won).values(), default=0)] += 1
        for driver, said in zip(self.drivers, told, strict=True):
            self.promised[race, driver.name] += said["told"] == "won"
        found = Counter(self.reader.read().rows)
        tally.replaced = (self.promised - found).total()
        tally.unexpected = (found - self.promised).total()

    def _go(self, race: int, drivers: tuple[Driver, ...], *, rivals: bool) -> None:
        for each in drivers:
            each.go(race, "rivals" if rivals else each.name)


@contextmanager
def course(s3: S3, place: Path, table: str, *, ours: bool) -> Iterator[Course]:
    """Give two warm drivers with a table that both have written to."""
    path = f"s3a://{BUCKET}/{table}"
    settings = {"spark.master": "local[1]", **(OURS if ours else {})}
    if ours:
        settings["spark.jars"] = str(log_store_jar())
    with ExitStack() as stack:
        drivers = []
        for name in ("first", "second"):
            proxy = stack.enter_context(S3Proxy(s3.port))
            reached = {**settings, **s3.spark_settings(port=proxy.port)}
            driver = Driver(proxy, name=name, table=path, settings=reached, place=place / name)
            stack.callback(driver.end)
            drivers.append(driver)
        for each in drivers:
            assert each.answer() == "ready\n"
        reader = DeltaTable(open_writer(path, from_hadoop(s3.spark_settings(), bucket=BUCKET)))
        made = Course(drivers=(drivers[0], drivers[1]), reader=reader)
        for number, each in enumerate(drivers):  # one after the other: the table is there, and warm
            each.go(number, f"warm-{each.name}")
            told = each.told()
            assert told["told"] == "won", told
            made.promised[number, each.name] += 1
        yield made


def is_rivalry(choose: random.Random) -> bool:
    """Return whether the two are one stream that runs twice, or two writers of one table."""
    return choose.random() < 1 / 2
