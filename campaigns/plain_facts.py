"""Whether `holdfast facts` knows all nine facts of plain streams, for each source and each sink.

    python -m campaigns.plain_facts [--spark 3.5|4.2] [--turn N]

Twelve streams without Holdfast (Kafka, files and Delta into Delta, files, Kafka and `foreachBatch`)
run in one application after the other and end in five ways: they finish, are stopped, fail, are
killed with SIGKILL, or end with their program. A third of them has no state, a third deduplicates
with RocksDB, and a third counts, in the output mode that its sink takes; `--turn` shifts which. The
event logs of all applications are in one directory. What Spark itself said meanwhile is kept apart.
Each fact is then read from checkpoint, event log, sink and code together, and compared with that.

The exit code is 0 when every fact is right.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import click

from benchmarks.measuring import exit_when_missed
from campaigns.event_log_starts import ENDINGS, Start, add_files, wrong_batches
from campaigns.streams import plain_matrix
from campaigns.streams.plain_ends import EXITED, FAILED, FINISHED, KILLED, STOPPED
from campaigns.streams.plain_matrix import COUNTED, DEDUPLICATED, NONE, PROVIDERS
from holdfast.cli.table import columns
from lab import Kafka
from lab.scratch import scratch_directory
from lab.spark import Installation, environment
from lab.versions import OWN_VERSION, REPOSITORY, installation_of
from lab.warm_up import ensure_archive

VERSIONS = ("3.5", OWN_VERSION)
SOURCES, SINKS = ("kafka", "files", "delta"), ("delta", "files", "kafka", "function")
OPERATORS = (NONE, DEDUPLICATED, COUNTED)
MODES = {"delta": "complete", "kafka": "update", "function": "update"}
"""In which a sink takes counts; a file sink takes none."""
APPLICATIONS = ((FINISHED, STOPPED, FAILED), (KILLED,), (STOPPED, FAILED, FINISHED), (EXITED,))
"""The ways in which the streams of each application end, in turn."""
RIGHT, WRONG, UNKNOWN = "right", "WRONG", "unknown"
NAMES = (
    *("checkpoint", "query id", "source offsets", "sink", "output mode", "stateful operators"),
    *("state store", "Spark", "restarts"),
)
MESSAGES = 20
SECONDS = 600.0


@dataclass(slots=True, kw_only=True)
class Stream:
    """One plain stream, and what was done to it."""

    home: Path
    source: str
    sink: str
    operator: str
    starts: list[Start] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Of its directory."""
        return self.home.name

    @property
    def checkpoint(self) -> Path:
        """Where it is."""
        return self.home / "checkpoint"

    @property
    def mode(self) -> str:
        """Its output mode."""
        return MODES[self.sink] if self.operator == COUNTED else "append"

    @property
    def starter(self) -> str:
        """The function of its program that starts it."""
        return f"{self.sink}_{self.mode}"

    @property
    def batches(self) -> dict[int, Any]:
        """The offsets of every batch that it committed."""
        return {number: each for start in self.starts for number, each in start.batches.items()}

    def instruct(self, way: str, rows: int) -> dict[str, str]:
        """Return what its program is told."""
        told = {"name": self.name, "source": self.source, "operator": self.operator, "way": way}
        return {**told, "starter": self.starter, "fails_at": f"row {rows - 1}"}


@dataclass(slots=True, kw_only=True)
class Lab:
    """Where the streams are."""

    home: Path
    installation: Installation
    kafka: Kafka
    streams: Sequence[Stream]
    rows: int = 0
    """In each directory."""
    messages: int = 0

    @property
    def events(self) -> Path:
        """Where the event logs are."""
        return self.home / "events"

    def run(self, ways: Sequence[str]) -> None:
        """Add rows and run one application, whose streams end in these ways in turn."""
        new = range(self.messages, self.messages + MESSAGES)
        self.kafka.produce("in", ((n % 2, b"k", f"row {n}".encode(), n) for n in new))
        self.messages = new.stop
        for each in self.streams:
            rows = add_files(each.home / "in", self.rows)
        self.rows = rows
        told = []
        for number, each in enumerate(self.streams):
            last = self.messages if each.source == "kafka" else self.rows
            told.append(each.instruct(ways[number % len(ways)], last))
        self.listen(told)

    def listen(self, told: Sequence[dict[str, str]]) -> None:
        """Run the program, and keep what it says of every stream."""
        self.events.mkdir(exist_ok=True)
        logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{self.events}"}
        spark = environment(
            self.home / "spark", logged, log_level="off", installation=self.installation
        )
        program = [str(self.installation.python), str(plain_matrix.__file__), str(self.home)]
        process = subprocess.Popen(
            [*program, json.dumps(told), self.kafka.address],
            env={**os.environ, **spark, "PYTHONPATH": str(REPOSITORY)},
            stdout=subprocess.PIPE,
            stderr=(self.home / "log").open("a"),
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        by_name = {each.name: each for each in self.streams}
        ways = {each["name"]: each["way"] for each in told}
        for line in process.stdout:
            said = json.loads(line)
            if said["what"] == "stream":
                name = said["name"]
                by_name[name].starts.append(Start(way=ways[name], said=said))
            elif told[0]["way"] == KILLED:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=SECONDS)

    def facts(self, stream: Stream) -> dict[str, Any]:
        """Return what `holdfast facts` says of a stream."""
        given = ["facts", str(stream.checkpoint), "--event-log", str(self.events)]
        given += ["--code", f"{plain_matrix.__file__}:{stream.starter}", "--format", "json"]
        if stream.sink in ("files", "delta"):
            given += ["--sink", str(stream.home / "out")]
        command = [sys.executable, "-m", "holdfast", *given]
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
        found: dict[str, Any] = json.loads(ended.stdout)
        return found


def judge(stream: Stream, found: dict[str, Any]) -> dict[str, str]:
    """Return of each of the nine facts whether it is right, wrong or unknown."""
    values = {each["name"]: each["value"] for each in found["facts"]}
    judged = dict.fromkeys(NAMES, RIGHT)
    for name, why in _differences(stream, found, values):
        judged[name] = UNKNOWN if values[name] is None else WRONG
        print(f"    {stream.name}, {name}: {why}", flush=True)
    return judged


def _differences(
    stream: Stream, found: dict[str, Any], values: dict[str, str | None]
) -> Iterator[tuple[str, str]]:
    """Yield facts that are not what was done, and why."""
    for name, expected in _expected(stream).items():
        if re.fullmatch(expected, values[name] or "") is None:
            yield name, f"{values[name]!r} is not {expected!r}"
    for why in _wrong_offsets(stream, found):
        yield "source offsets", why
    for why in _wrong_starts(stream, found["event_log"]["runs"]):
        yield "restarts", why


def _expected(stream: Stream) -> dict[str, str]:
    """Return what each fact must be, as a pattern."""
    last, place = stream.starts[-1].said, re.escape(str(stream.home / "out"))
    batch = rf"\(batch {max(stream.batches)}\)"
    shown = {
        "delta": rf"the Delta table {place} {batch}",
        "files": rf"the file output {place} \(batch {max(stream.batches)} of its newest writer\)",
        "kafka": rf".*[Kk]afka.* {batch}",
        "function": rf"ForeachBatchSink {batch}",
    }
    unused = "" if stream.operator != NONE else r" \(not used: there is no state\)"
    operators = rf"1 operator: {stream.operator}, 2 partitions"
    return {
        "checkpoint": re.escape(str(stream.checkpoint)),
        "query id": last["query_id"],
        "sink": shown[stream.sink],
        "output mode": stream.mode,
        "stateful operators": "none(: .*)?" if stream.operator == NONE else operators,
        "state store": PROVIDERS[stream.operator] + unused,
        "Spark": re.escape(last["spark"]),
        "restarts": rf"{len(stream.starts)} starts: .*",
    }


def _wrong_offsets(stream: Stream, found: dict[str, Any]) -> Iterator[str]:
    """Yield where the offsets differ: of every batch, and of the next one to be read."""
    yield from wrong_batches(stream.starts, found["event_log"], stream.checkpoint)
    ((_, end),) = stream.batches[max(stream.batches)]
    last = json.loads(end) if isinstance(end, str) else end
    told = found["offsets"]
    if stream.source == "kafka":
        read = {str(each["partition"]): each["offset"] for each in told}
        if last != {"in": read}:
            yield f"{read} is not {last}"
        return
    expected = f"read up to sources/0/{last.get('logOffset')}"
    if stream.source == "delta":
        expected = rf".*\b{last.get('reservoirVersion')}\b.*"
    if [each for each in told if re.fullmatch(expected, each["position"])] != told or not told:
        yield f"{told} is not {last}"


def _wrong_starts(stream: Stream, runs: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield starts that are not listed, or with another end, version or error."""
    if [each["run_id"] for each in runs] != [each.said["run_id"] for each in stream.starts]:
        yield f"{len(runs)} starts are listed, {len(stream.starts)} were made"
        return
    for number, (start, run) in enumerate(zip(stream.starts, runs, strict=True), 1):
        if run["ending"] not in ENDINGS[start.way]:
            yield f"start {number} ({start.way}) is listed as {run['ending']}"
        if run["spark"] != start.said["spark"]:
            yield f"start {number}: Spark {run['spark']}, not {start.said['spark']}"
        if start.way == FAILED and "told to fail" not in (run["error"] or ""):
            yield f"start {number}: the error is {run['error']}"


def make_streams(home: Path, turn: int) -> list[Stream]:
    """Return one stream for each source and sink; a file sink takes no counts."""
    streams = []
    for number, (source, sink) in enumerate(product(SOURCES, SINKS)):
        operator = OPERATORS[(number + number // len(SINKS) + turn) % len(OPERATORS)]
        if sink == "files" and operator == COUNTED:
            operator = DEDUPLICATED
        place = home / f"{source}-{sink}"
        streams.append(Stream(home=place, source=source, sink=sink, operator=operator))
    return streams


def play(version: str, turn: int, stack: ExitStack) -> Iterator[tuple[str, ...]]:
    """Run the streams of one version, and yield a line of the table for each."""
    installation = installation_of(version)
    ensure_archive(installation)
    home, kafka = stack.enter_context(scratch_directory()), stack.enter_context(Kafka())
    kafka.create_topic("in", partitions=2)
    kafka.create_topic("out", partitions=1)
    streams = make_streams(home, turn)
    lab = Lab(home=home, installation=installation, kafka=kafka, streams=streams)
    for ways in APPLICATIONS:
        lab.run(ways)
    for each in streams:
        judged = judge(each, lab.facts(each))
        made = f"{len(each.starts)}, {len(each.batches)}"
        named = (version, each.source, each.sink, f"{each.operator}, {each.mode}", made)
        yield (*named, *judged.values())


@click.command(help=__doc__)
@click.option("--spark", "version", type=click.Choice(VERSIONS), help="Both if not given.")
@click.option("--turn", default=0, show_default=True)
def main(*, version: str | None, turn: int) -> None:
    """Run every stream, compare each fact, and fail when one is wrong or unknown."""
    rows: list[tuple[str, ...]] = []
    with ExitStack() as stack:
        for number, each in enumerate([version] if version else VERSIONS):
            rows += play(each, turn + number, stack)
    head = ("Spark", "source", "sink", "operator, mode", "starts, batches")
    print(*columns([(*head, *NAMES), *rows]), sep="\n")
    verdicts = [verdict for row in rows for verdict in row[len(head) :]]
    counts = ", ".join(f"{verdicts.count(each)} {each}" for each in (RIGHT, WRONG, UNKNOWN))
    print(f"{len(verdicts)} facts of {len(rows)} plain streams: {counts}")
    exit_when_missed([each for each in verdicts if each != RIGHT])


if __name__ == "__main__":
    main()
