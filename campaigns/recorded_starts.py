"""Whether `holdfast facts` lists exactly the starts that a guarded stream has had.

    python -m campaigns.recorded_starts [--starts N] [--seed N]

A stream into PostgreSQL is started 20 times and ends in six ways that the record tells apart as
five: it finishes, it is stopped (by `query.stop()`, or because its program ends), a batch fails, it
is killed with SIGKILL, and another driver takes over. A start runs one or two new files, one in a
batch. What the lab did to it is kept apart: run id, Spark and error as Spark says them, the first
and the last batch, and between which moments it began and ended. The list of `holdfast facts` must
equal that, start by start; the table must hold every row once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import psycopg

from benchmarks.measuring import exit_when_missed
from campaigns.streams import ends_in_a_way
from campaigns.streams.ends_in_a_way import (
    EXITED,
    FAILED,
    FINISHED,
    KILLED,
    REPLACED,
    STOPPED,
    STREAM,
)
from holdfast.cli.table import columns
from holdfast.proof.multiset import compare
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

WAYS = (FINISHED, STOPPED, FAILED, KILLED, REPLACED)
RECORDED = {EXITED: "stopped", KILLED: "not-recorded", REPLACED: "lost"}
"""What the record calls it, where that differs."""
FILES_PER_START = 2
_FIRST_WRITTEN = time.time() - 3_600
SECONDS = 180.0


@dataclass(slots=True, kw_only=True)
class Start:
    """One start, as the lab made it and as Spark told of it."""

    way: str
    first_batch: int
    last_file: int
    """The number of its newest file, and of the batch that reads it."""
    asked_at: datetime
    process: subprocess.Popen[str]
    said: dict[str, Any] = field(default_factory=dict)
    began_by: datetime | None = None
    gone_at: datetime | None = None

    def read_until(self, what: str) -> None:
        """Read what the driver prints, up to a word."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = json.loads(line)
            self.said.update(found)
            if found["what"] == "started":
                self.began_by = datetime.now(tz=UTC)
            if found["what"] == what:
                return
        raise AssertionError(f"the driver has ended before it {what}")

    @property
    def last_batch(self) -> int | None:
        """The last batch in the table that it knew of; a driver that is killed writes none."""
        if self.way == KILLED:
            return None
        return self.last_file - 1 if self.way == FAILED else self.last_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """Where the stream is."""

    home: Path
    dsn: str

    def start(self, way: str, before: Start | None, *, takeover: bool) -> Start:
        """Add files and start a driver."""
        files = self.home / "in"
        files.mkdir(exist_ok=True)
        there = len(list(files.iterdir()))
        # A batch that failed is pending: the next start begins with it.
        is_pending = before is not None and before.way == FAILED
        # A start that is to be replaced runs one batch only.
        new = (0 if is_pending else 1) if way == REPLACED else FILES_PER_START
        for number in range(there, there + new):
            file = files / f"f{number:04d}.txt"
            file.write_text(f"row {number}\n")
            # Spark reads the oldest first: two files of one moment have no order.
            os.utime(file, (_FIRST_WRITTEN + number, _FIRST_WRITTEN + number))
        last = there + new - 1
        command = [sys.executable, str(ends_in_a_way.__file__), self.root, str(files), str(last)]
        command += [way, *(["takeover"] if takeover else [])]
        settings = environment(self.home / f"spark-{last}-{way}", {}, log_level="off")
        return Start(
            way=way,
            first_batch=there - 1 if is_pending else there,
            last_file=last,
            asked_at=datetime.now(tz=UTC),
            process=subprocess.Popen(
                command,
                env={**os.environ, **settings, "READINGS_DSN": self.dsn},
                stdout=subprocess.PIPE,
                stderr=(self.home / "log").open("a"),
                text=True,
                start_new_session=True,
            ),
        )

    @property
    def root(self) -> str:
        """Of the stream."""
        return str(self.home / "streams")

    def facts(self) -> list[dict[str, Any]]:
        """Return the starts that `holdfast facts` lists, oldest first."""
        given = ["facts", STREAM, "--root", self.root, "--format", "json"]
        command = [sys.executable, "-m", "holdfast", *given]
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
        return list(reversed(json.loads(ended.stdout)["starts"]))


def end(start: Start) -> None:
    """Let a start end in its way, and wait until its process is gone."""
    if start.way == KILLED:
        os.killpg(start.process.pid, signal.SIGKILL)
    start.process.communicate(timeout=SECONDS)
    start.gone_at = datetime.now(tz=UTC)


def run(lab: Lab, ways: Sequence[str], stack: ExitStack) -> list[Start]:
    """Start the stream as often as there are ways, and end it in each."""
    done: list[Start] = []
    for way in ways:
        replaced = done[-1] if done and done[-1].way == REPLACED else None
        start = lab.start(way, done[-1] if done else None, takeover=replaced is not None)
        stack.callback(start.process.kill)
        start.read_until("ended" if way == FAILED else "ran")
        if replaced is not None:
            end(replaced)
        if way != REPLACED:
            end(start)
        done.append(start)
        print(f"  start {len(done)} of {len(ways)}: {way}", flush=True)
    assert done[-1].gone_at is not None, "nobody replaces the last start"
    return done


def expected(number: int, start: Start) -> dict[str, Any]:
    """Return what `holdfast facts` must say of a start, without its two times."""
    return {
        "epoch": number,
        "run_id": start.said["run_id"],
        "ended": RECORDED.get(start.way, start.way),
        "where": f"runs/{number:06d}-{start.said['run_id']}.json",
        "generation": 1,
        "spark": ".".join(start.said["spark"].split(".")[:2]),  # the record has no patch level
        "error": start.said.get("error"),
        "first_batch": start.first_batch,
        "last_batch": start.last_batch,
        "not_known": None,
    }


def differences(starts: Sequence[Start], found: Sequence[dict[str, Any]]) -> list[str]:
    """Return everything in which the list differs from what was done."""
    if len(starts) != len(found):
        return [f"{len(found)} starts are listed, {len(starts)} were made"]
    wrong = []
    for number, (start, listed) in enumerate(zip(starts, found, strict=True), 1):
        told = {
            key: value for key, value in listed.items() if key not in ("started_at", "ended_at")
        }
        should = expected(number, start)
        names = sorted(told.keys() | should.keys())
        wrong += [
            f"start {number} ({start.way}): {name} is {told.get(name)!r}, not {should.get(name)!r}"
            for name in names
            if told.get(name) != should.get(name)
        ]
        wrong += [f"start {number} ({start.way}): {each}" for each in _wrong_times(start, listed)]
    return wrong


def _wrong_times(start: Start, listed: dict[str, Any]) -> list[str]:
    """Return which times lie outside the moments between which it happened."""
    began, ended = listed["started_at"], listed["ended_at"]
    assert start.began_by is not None
    assert start.gone_at is not None
    wrong = []
    # The record has whole seconds.
    first = start.asked_at.replace(microsecond=0)
    if not first <= datetime.fromisoformat(began) <= start.began_by:
        wrong.append(f"began {began}, not between {first} and {start.began_by}")
    if start.way == KILLED:
        return wrong if ended is None else [*wrong, f"ended {ended}, but it was killed"]
    if ended is None or not first <= datetime.fromisoformat(ended) <= start.gone_at:
        wrong.append(f"ended {ended}, not between {first} and {start.gone_at}")
    return wrong


def choose_ways(starts: int, seed: int) -> list[str]:
    """Return as many of each kind of end, in an order drawn by the seed.

    Half of those that are stopped end with their program instead. The last start is not replaced,
    and leaves no batch pending.
    """
    ways = [WAYS[number % len(WAYS)] for number in range(starts)]
    stops = [number for number, way in enumerate(ways) if way == STOPPED]
    for number in stops[1::2]:
        ways[number] = EXITED
    random.Random(seed).shuffle(ways)  # noqa: S311 - the same every time
    while ways[-1] in (REPLACED, FAILED):
        ways.insert(0, ways.pop())
    return ways


def show(found: Sequence[dict[str, Any]]) -> None:
    """Print the list."""
    rows = [("epoch", "ended", "batches", "error")]
    for each in found:
        last = "?" if each["last_batch"] is None else each["last_batch"]
        batches = f"{each['firstBatch']} … {last}"
        rows.append((f"{each['epoch']}", each["ended"], batches, each["error"] or "-"))
    print(*columns(rows), sep="\n")


@click.command(help=__doc__)
@click.option("--starts", default=20, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(*, starts: int, seed: int) -> None:
    """Start and end it, compare the list, and fail when it differs."""
    ensure_archive()
    with ExitStack() as stack:
        postgres, home = stack.enter_context(Postgres()), stack.enter_context(scratch_directory())
        lab = Lab(home=home, dsn=postgres.create_database("readings"))
        with psycopg.connect(lab.dsn) as connection:
            connection.execute("CREATE TABLE readings (value text)")
        made = run(lab, choose_ways(starts, seed), stack)
        found = lab.facts()
        with psycopg.connect(lab.dsn) as connection:
            rows = connection.execute("SELECT value FROM readings").fetchall()
    show(found)
    sent = [(f"row {number}",) for number in range(made[-1].last_file + 1)]
    judged = compare(sent, [(str(value),) for (value,) in rows])
    wrong = differences(made, found)
    kinds = Counter(each["ended"] for each in found)
    said = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    print(f"{len(found)} starts, {len(kinds)} kinds of ends ({said}): {len(wrong)} differences")
    print(f"{len(rows)} rows: {judged}")
    exit_when_missed([*wrong, *([] if judged.exact else [str(judged)])])


if __name__ == "__main__":
    main()
