"""Whether `holdfast facts --event-log` knows what a plain stream has done, on Spark 4.2 or 3.5.

    python -m campaigns.event_log_starts [--spark 4.2|3.5] [--seed N]

Four streams without Holdfast, each with another source and sink, are started five times and end in
five ways, in an order drawn by the seed: 20 starts. They finish, are stopped, fail, are killed with
SIGKILL, or their program ends without stopping them. What Spark itself said meanwhile is kept
apart: run id, version, error, and the offsets of every batch. Runs, ends, batches and all nine
facts must equal that; a batch that is not in the log must be named as missing.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from benchmarks.measuring import exit_when_missed
from campaigns.streams import plain_ends
from campaigns.streams.plain_ends import EXITED, FAILED, FINISHED, KILLED, STOPPED
from lab import Kafka
from lab.scratch import scratch_directory
from lab.spark import Installation, environment
from lab.versions import OWN_VERSION, installation_of

WAYS = (FINISHED, STOPPED, FAILED, KILLED, EXITED)
ENDINGS = {
    FINISHED: ("ended",),
    STOPPED: ("ended",),
    FAILED: ("failed",),
    KILLED: ("not-in-log",),
    # The JVM's own end stops the query, is faster, or takes its Python function away.
    EXITED: ("ended", "not-in-log", "failed"),
}
STREAMS = {
    OWN_VERSION: (
        ("kafka", "delta"),
        ("files", "files"),
        ("delta", "function"),
        ("kafka", "kafka"),
    ),
    # Kafka on both versions: `campaigns.plain_facts`.
    "3.5": (("files", "delta"), ("files", "files"), ("delta", "function"), ("delta", "delta")),
}
SINKS = {"kafka": "Kafka", "files": "/out", "delta": "/out", "function": "ForeachBatchSink"}
_FIRST_WRITTEN = time.time() - 3_600
_PER_START = 2
_MESSAGES = 10
SECONDS = 180.0


def add_files(files: Path, there: int) -> int:
    """Add two files of one row to a directory, and return how many are there then."""
    files.mkdir(parents=True, exist_ok=True)
    for number in range(there, there + _PER_START):
        file = files / f"f{number:04d}.txt"
        file.write_text(f"row {number}\n")
        # Spark reads the oldest first: two files of one moment have no order.
        os.utime(file, (_FIRST_WRITTEN + number, _FIRST_WRITTEN + number))
    return there + _PER_START


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start, as the lab made it and as Spark told of it."""

    way: str
    said: dict[str, Any]

    @property
    def batches(self) -> dict[int, Any]:
        """The offsets of every batch that it committed."""
        return dict(self.said["batches"])


@dataclass(slots=True, kw_only=True)
class Stream:
    """One plain stream, and what was done to it."""

    home: Path
    source: str
    sink: str
    installation: Installation
    kafka: Kafka | None
    rows: int = 0
    starts: list[Start] = field(default_factory=list)

    @property
    def checkpoint(self) -> Path:
        """Where it is."""
        return self.home / "checkpoint"

    @property
    def events(self) -> Path:
        """Where its event logs are."""
        return self.home / "events"

    def add_rows(self) -> None:
        """Add what two batches read."""
        if self.source == "kafka" and self.kafka is not None:
            new = range(self.rows, self.rows + _PER_START * _MESSAGES)
            self.kafka.produce("in", ((n % 2, b"k", f"row {n}".encode(), n) for n in new))
            self.rows = new.stop
            return
        self.rows = add_files(self.home / "in", self.rows)

    def start(self, way: str) -> None:
        """Add rows, start a driver, and let it end in a way."""
        self.add_rows()
        self.events.mkdir(parents=True, exist_ok=True)
        logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{self.events}"}
        directory = self.home / f"spark-{len(self.starts)}"
        installation = self.installation
        settings = environment(directory, logged, log_level="off", installation=installation)
        kafka = [] if self.kafka is None else [self.kafka.address]
        program = [str(plain_ends.__file__), str(self.home), self.source, self.sink, way]
        process = subprocess.Popen(
            [str(installation.python), *program, str(self.rows - 1), *kafka],
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=(self.home / "log").open("a"),
            text=True,
            start_new_session=True,
        )
        said: dict[str, Any] = {}
        assert process.stdout is not None
        for line in process.stdout:
            said.update(json.loads(line))
            if said["what"] == "ran" and way == KILLED:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=SECONDS)
        self.starts.append(Start(way=way, said=said))

    def facts(self) -> dict[str, Any]:
        """Return what `holdfast facts` says."""
        given = ["facts", str(self.checkpoint), "--event-log", str(self.events)]
        given += ["--code", f"{plain_ends.__file__}:write_{self.sink}", "--format", "json"]
        if self.sink in ("files", "delta"):
            given += ["--sink", str(self.home / "out")]
        ended = subprocess.run(
            [sys.executable, "-m", "holdfast", *given], check=False, capture_output=True, text=True
        )
        found: dict[str, Any] = json.loads(ended.stdout)
        return found


def differences(stream: Stream, found: dict[str, Any]) -> Iterator[str]:
    """Yield everything in which the facts differ from what was done."""
    runs = found["event_log"]["runs"]
    made = stream.starts
    if [each["run_id"] for each in runs] != [each.said["run_id"] for each in made]:
        yield f"{len(runs)} runs are listed, {len(made)} were made"
        return
    for number, (start, run) in enumerate(zip(made, runs, strict=True), 1):
        if run["ending"] not in ENDINGS[start.way]:
            yield f"start {number} ({start.way}) is listed as {run['ending']}"
        if run["spark"] != start.said["spark"]:
            yield f"start {number}: Spark {run['spark']}, not {start.said['spark']}"
        if start.way == FAILED and "told to fail" not in run["error"]:
            yield f"start {number}: the error is {run['error']}"
    yield from wrong_batches(made, found["event_log"], stream.checkpoint)
    yield from wrong_facts(stream, found["facts"])


def wrong_batches(starts: Sequence[Start], log: dict[str, Any], checkpoint: Path) -> Iterator[str]:
    """Yield batches whose offsets are others, and those that are neither told nor missing."""
    done = {number: each for start in starts for number, each in start.batches.items()}
    told = {each["batch"]: each["sources"] for each in log["batches"]}
    missing = {n for first, last in log["missing_batches"] for n in range(first, last + 1)}
    newest = max(told)
    for number, sources in done.items():
        if number not in told:
            said = number in missing or (
                number > newest and any("in no log" in x for x in log["incomplete"])
            )
            if not said:
                yield f"batch {number} is not told, and not said to be missing"
            continue
        ranges = [[_parsed(each["start"]), _parsed(each["end"])] for each in told[number]]
        if ranges != [[_parsed(each) for each in source] for source in sources]:
            yield f"batch {number}: {ranges}, not {sources}"
        if not (checkpoint / "commits" / str(number)).exists():
            yield f"batch {number} is told and has no commit entry"
    yield from (f"batch {n} is told and did not run" for n in told.keys() - done.keys())


def _parsed(offset: Any) -> Any:
    return json.loads(offset) if isinstance(offset, str) else offset


def wrong_facts(stream: Stream, facts: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield which of the nine facts are not known, or not what was done."""
    by_name = {each["name"]: each["value"] for each in facts}
    last = stream.starts[-1].said
    expected = {
        "checkpoint": str(stream.checkpoint),
        "query id": last["query_id"],
        "sink": SINKS[stream.sink],
        "output mode": "append",
        "stateful operators": "none",
        "state store": "StateStoreProvider",
        "Spark": last["spark"],
        "restarts": f"{len(stream.starts)} starts: ",
    }
    for name, text in expected.items():
        if text not in (by_name[name] or ""):
            yield f"the fact {name} is {by_name[name]!r}, without {text!r}"
    (offsets,) = (each for each in facts if each["name"] == "source offsets")
    compared = re.search(r"the same in (\d+) of (\d+) batches", offsets["where"])
    if compared is None or compared[1] != compared[2]:
        yield f"the source offsets were read in {offsets['where']}"


def play(stream: Stream, seed: int) -> list[str]:
    """Start it in every way, and return what is wrong."""
    ways = list(WAYS)
    random.Random(seed).shuffle(ways)  # noqa: S311 - the same every time
    for way in ways:
        stream.start(way)
    found = stream.facts()
    log = found["event_log"]
    ends = Counter(each["ending"] for each in log["runs"])
    told = ", ".join(f"{number} {ending}" for ending, number in ends.most_common())
    wrong = [f"{stream.source} to {stream.sink}: {each}" for each in differences(stream, found)]
    done = {number for start in stream.starts for number in start.batches}
    print(
        f"{stream.source:6} to {stream.sink:9} {' '.join(ways)}: {len(log['runs'])} starts "
        f"({told}), {len(log['batches'])} of {len(done)} batches told, {len(wrong)} differences",
        flush=True,
    )
    for each in log["incomplete"]:
        print(f"    said: {each}")
    return wrong


@click.command(help=__doc__)
@click.option("--spark", "version", default=OWN_VERSION, type=click.Choice(list(STREAMS)))
@click.option("--seed", default=1, show_default=True)
def main(*, version: str, seed: int) -> None:
    """Start and end every stream, compare, and fail when something differs."""
    installation = installation_of(version)
    with ExitStack() as stack:
        home = stack.enter_context(scratch_directory())
        wrong: list[str] = []
        for number, (source, sink) in enumerate(STREAMS[version]):
            kafka = None
            if "kafka" in (source, sink):
                kafka = stack.enter_context(Kafka())
                kafka.create_topic("in", partitions=2)
                kafka.create_topic("out", partitions=1)
            place = home / f"{number}-{source}-{sink}"
            place.mkdir()
            stream = Stream(
                home=place, source=source, sink=sink, installation=installation, kafka=kafka
            )
            wrong += play(stream, seed + number)
    print(f"{len(wrong)} differences on Spark {version}")
    exit_when_missed(wrong)


if __name__ == "__main__":
    main()
