"""Plain streams whose drivers live: every plan is refused, whatever is allowed.

    python -m campaigns.plain_alive

Two drivers with plain streams. The first has streams with a trigger of five minutes that have run
one batch, and a stream in a long batch. The second is paused with SIGSTOP, in a batch of one stream
and between the batches of another, with Spark's event log. Each plan is applied with every word
allowed, up to ten minutes after the last sign of life, by a clock that is moved. Then the drivers
go on, and every row of every stream must be there once. In the end they have stopped, and the same
plan is carried out: it was refused because of them.

The exit code is 0 when every plan was refused, nothing had changed, and every table is exact.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import click
from msgspec.structs import replace
from pyspark.sql import SparkSession

from campaigns.streams import plain_alive
from holdfast.apply.apply import apply_plan
from holdfast.apply.errors import StreamRunsError
from holdfast.apply.stores import Stores
from holdfast.drills.kill.waiting import wait_until
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from lab.scratch import scratch_directory
from lab.spark import environment, start_session
from lab.warm_up import ensure_archive

SECONDS = 180.0
RESET = Request(goal="reset", start="earliest", output="truncate")
REWIND = Request(goal="rewind", batch=0, output="restore")
RETIRE = Request(goal="retire")
MOVE = Request(goal="move")
WAITING, LONG, PAUSED, BETWEEN = "waiting", "long", "paused", "between"
FILES = "waiting-files"
DRIVERS = (
    (f"{WAITING}:delta:300", f"{FILES}:parquet:300", f"{LONG}:delta:1"),
    (f"{PAUSED}:delta:1", f"{BETWEEN}:delta:1"),
)
CASES = (
    (WAITING, RESET, 20),
    (WAITING, RETIRE, 290),
    (FILES, RESET, 120),
    (FILES, MOVE, 20),
    (LONG, RESET, 20),
    (LONG, REWIND, 300),
    (LONG, RETIRE, 580),
    (PAUSED, RESET, 20),
    (PAUSED, REWIND, 580),
    (BETWEEN, RESET, 580),
)
"""A stream, what is planned for it, and how many seconds after its last sign of life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """Plain streams of a driver that lives."""

    home: Path
    names: tuple[str, ...]
    process: subprocess.Popen[bytes]

    def wait_for(self, log: str, name: str, wanted: int) -> None:
        """Wait until so many batches of a stream are in a log."""
        there = self.home / "cp" / name / log
        assert wait_until(lambda: len([*there.glob("[0-9]*")]) == wanted, seconds=SECONDS)


def add(there: Path, number: int, row: str) -> None:
    """Give a stream, by the directory that it reads, one more file with one row."""
    there.mkdir(parents=True, exist_ok=True)
    made = there / f".{number}"
    made.write_text(f"{row}\n")
    made.rename(there / f"{number}.txt")


def sent(home: Path, name: str) -> Counter[str]:
    """Return the rows that a stream was given."""
    files = (home / name / "in").glob("*.txt")
    return Counter(each.read_text().strip() for each in files)


def found(spark: SparkSession, home: Path, name: str) -> Counter[str]:
    """Return the rows in a stream's output."""
    kind = "parquet" if name == FILES else "delta"
    return Counter(
        row.value for row in spark.read.format(kind).load(f"{home}/{name}/out").collect()
    )


def everything(home: Path, name: str) -> dict[str, bytes]:
    """Return every file of a stream's checkpoint and output, and what a plan keeps aside."""
    return {
        str(each): each.read_bytes()
        for place in (home / "cp", home / name)
        for each in sorted(place.rglob("*"))
        if each.is_file()
    }


@contextmanager
def started(home: Path, told: tuple[str, ...]) -> Iterator[Streams]:
    """Start a driver in a group of its own; end it by its file, or by force."""
    names = tuple(each.split(":")[0] for each in told)
    for name in names:
        add(home / name / "in", 0, f"{name} 0")
    events = home / "events"
    events.mkdir(exist_ok=True)
    logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{events}"}
    process = subprocess.Popen(
        [sys.executable, str(plain_alive.__file__), str(home), *told],
        env=environment(home / "spark", logged),
        start_new_session=True,
    )
    try:
        yield Streams(home=home, names=names, process=process)
        (home / "end").touch()
        assert process.wait(SECONDS) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGCONT)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def refused(home: Path, case: tuple[str, Request, int]) -> bool:
    """Apply a plan with everything allowed; return whether it was refused and changed nothing."""
    name, request, after_s = case
    plan = planned(home, name, request)
    before = everything(home, name)
    try:
        with later(after_s):
            apply_plan(plan, Stores(roots=(str(home),)), allowed=plan.words)
    except StreamRunsError as error:
        same = everything(home, name) == before
        click.echo(f"{name:<14}{request.goal:<8}{after_s:>4} s  refused, {_same(same)}: {error}")
        return same
    click.echo(f"{name:<14}{request.goal:<8}{after_s:>4} s  CARRIED OUT")
    return False


def _same(same: bool) -> str:
    return "nothing changed" if same else "FILES HAVE CHANGED"


def planned(home: Path, name: str, request: Request) -> Plan:
    """Return a plan, made as the command line makes it."""
    looks = DiagnoseRequest(
        location=f"{home}/cp/{name}",
        sinks=(f"{home}/{name}/out",),
        event_log=f"{home}/events" if name == BETWEEN else None,
        probe=True,
    )
    if request.goal == "move":
        request = replace(request, target=f"{home}/moved/{name}")
    plan = make_plan(request, looks)
    assert isinstance(plan, Plan), plan
    return plan


@contextmanager
def later(seconds: float) -> Iterator[None]:
    """Let Holdfast's clock be ahead."""
    ahead = timedelta(seconds=seconds)
    with patch("holdfast.clock.now", lambda: datetime.now(tz=UTC) + ahead):
        yield


def wait_for_batches(streams: Streams) -> None:
    """Wait until each stream stands where its case wants it, and pause what is to be paused."""
    home = streams.home
    for name in streams.names:
        streams.wait_for("commits", name, 1)
    for number in (1, 2, 3):
        for name in set(streams.names) & {BETWEEN}:
            add(home / name / "in", number, f"{name} {number}")
            streams.wait_for("commits", name, number + 1)
    for name in set(streams.names) & {LONG, PAUSED}:
        add(home / name / "in", 1, f"slow {name}")
        streams.wait_for("offsets", name, 2)
    if PAUSED in streams.names:
        os.killpg(streams.process.pid, signal.SIGSTOP)


def go_on(streams: Streams) -> None:
    """Let everything go on, with one row more for each stream whose trigger is short."""
    os.killpg(streams.process.pid, signal.SIGCONT)
    (streams.home / "go").touch()
    for name in set(streams.names) & {LONG, PAUSED, BETWEEN}:
        add(streams.home / name / "in", 9, f"{name} 9")


@click.command(help=__doc__)
def main() -> None:
    """Refuse every plan, then carry one out."""
    ensure_archive()
    held, exact = 0, True
    with scratch_directory() as scratch:
        homes = [scratch / "first", scratch / "second"]
        for home, told in zip(homes, DRIVERS, strict=True):
            home.mkdir()
            with started(home, told) as streams:
                wait_for_batches(streams)
                cases = [each for each in CASES if each[0] in streams.names]
                held += sum(refused(home, each) for each in cases)
                go_on(streams)
        spark = start_session(scratch, {})
        for home, told in zip(homes, DRIVERS, strict=True):
            for name in (each.split(":")[0] for each in told):
                same = found(spark, home, name) == sent(home, name)
                click.echo(f"{name:<14}{'exact' if same else 'NOT EXACT'} in the end")
                exact = exact and same
        plan = planned(homes[0], WAITING, RESET)
        with later(7_200):
            apply_plan(
                plan,
                Stores(session=lambda: spark, roots=(str(homes[0]),)),
                allowed=plan.words,
            )
        emptied = not found(spark, homes[0], WAITING)
        click.echo(f"stopped, and quiet: the same reset {'was' if emptied else 'was NOT'} done")
        spark.stop()
    click.echo(f"{held} of {len(CASES)} refused, and nothing changed.")
    sys.exit(0 if held == len(CASES) and exact and emptied else 1)


if __name__ == "__main__":
    main()
