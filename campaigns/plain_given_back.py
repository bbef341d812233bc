"""The deleted checkpoint of a plain stream, given back from Spark's event log and the sink's log.

    python -m campaigns.plain_given_back [--runs N] [--only kafka/delta]

A plain program reads Kafka or a Delta table and writes a Delta table or files, without Holdfast. It
ends by itself, is killed with SIGKILL between two batches, or is killed when its last batch is in
the sink and not in `commits/`. Its checkpoint is deleted, more data arrives, and it is given back:
`holdfast plan resume --event-log --sink`, `holdfast apply --execute`, and the program starts again.
The rows are compared with everything that was sent. A plan that is refused must leave the sink as
it was.

Beside it stand two restarts without Holdfast, on copies: with no checkpoint, and with a checkpoint
made from the last batch that the event log has. The exit code is 0 when no run lost or repeated a
row.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import click
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from campaigns.commands import holdfast
from campaigns.streams import plain_into
from campaigns.streams.plain_into import FILES, PER_BATCH
from holdfast.cli.exit_codes import ExitCode
from holdfast.drills.kill import Driver, Rename
from holdfast.formats.event_log.queries import read_queries
from holdfast.formats.event_log.read import read_event_log
from holdfast.plan.plan_file import decode_plan
from holdfast.proof.multiset import Difference, compare
from lab import Kafka
from lab.scratch import scratch_directory
from lab.spark import environment, start_session
from lab.warm_up import ensure_archive

STOPPED, BETWEEN, IN_SINK = "stopped", "killed between batches", "killed, last batch only in sink"
_LONG_AGO = 1_700_000_000
ENDS = {
    STOPPED: None,
    BETWEEN: Rename("before", "offsets/2"),
    IN_SINK: Rename("before", "commits/2"),
}
STREAMS = (("kafka", "delta"), ("kafka", "bare"), ("delta", "bare"), ("kafka", FILES))
REFUSED = "refused"
FIRST, MORE = 4 * PER_BATCH, 2 * PER_BATCH
SECONDS = 900.0
LARGER = 3
"""As much as so many batches before is one batch after the restart: ranges are others then."""
HEAD = f"{'stream':<14}{'ended':<33}{'given back':<17}{'lost':>5}{'dup.':>6}   without: "


@dataclass(slots=True, kw_only=True)
class Plain:
    """One plain stream and its places."""

    spark: SparkSession
    kafka: Kafka
    home: Path
    source: str
    sink: str
    events: Path
    """Where its event logs are."""
    sent: list[int] = field(default_factory=list)

    @property
    def checkpoint(self) -> Path:
        """Where the program keeps it."""
        return self.home / "checkpoint/orders"

    @property
    def topic(self) -> str:
        """Of its records; empty without one."""
        return self.home.name if self.source == "kafka" else ""

    def send(self, amount: int) -> None:
        """Give the source more rows."""
        numbers = range(len(self.sent), len(self.sent) + amount)
        self.sent.extend(numbers)
        if self.topic:
            self.kafka.produce(self.topic, ((n % 2, b"", str(n).encode(), 0) for n in numbers))
            return
        for first in range(numbers[0], numbers[-1] + 1, PER_BATCH):
            rows = self.spark.range(first, first + PER_BATCH, numPartitions=1)
            rows = rows.select(F.col("id").cast("int").alias("n"))
            rows.write.format("delta").mode("append").save(f"{self.home}/in")

    def driver(self) -> Driver:
        """Return the program, with Spark's event log."""
        self.events.mkdir(exist_ok=True)
        logged = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{self.events}"}
        given = [self.kafka.address, self.topic] if self.topic else []
        return Driver(
            [
                str(plain_into.__file__),
                str(self.home),
                self.source,
                self.sink,
                "1",
                *given,
            ],
            environment=environment(self.home / "spark", logged),
            directory=self.home / "runs",
            seconds=SECONDS,
        )

    def run(self, batches: int, home: Path | None = None) -> None:
        """Run the program in this process until it has read everything."""
        place, kafka = home or self.home, self.kafka.address
        frame = plain_into.read(self.spark, place, batches, kafka=kafka, topic=self.topic)
        plain_into.run(frame, place, self.sink)

    def found(self, home: Path | None = None) -> list[int]:
        """Return the rows of the sink."""
        reader = self.spark.read.format("parquet" if self.sink == FILES else "delta")
        table = reader.load(f"{home or self.home}/out").toArrow()
        return [int(n) for n in table.column("n").to_pylist()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one run."""

    plain: Plain
    ended: str
    how: str
    """How it was given back."""
    rows: Difference
    empty: Difference
    """Of a restart without a checkpoint."""
    naive: Difference
    """Of a restart from the last batch of the event log."""

    @property
    def line(self) -> str:
        """A row of the table."""
        stream = f"{self.plain.source}/{self.plain.sink}"
        without = "; ".join(
            f"{named} {each.missing} lost, {each.duplicated} duplicated"
            for named, each in (("no checkpoint", self.empty), ("last progress", self.naive))
        )
        rows = self.rows
        return (
            f"{stream:<14}{self.ended:<33}{self.how:<17}{rows.missing:>5}{rows.duplicated:>6}"
            f"   {without}"
        )


def run(plain: Plain, ended: str) -> Outcome:
    """Let it end, delete its checkpoint, send more, give it back, and start it again."""
    plain.send(FIRST)
    driver = plain.driver()
    point = ENDS[ended]
    if point is None:
        driver.run_to_end()
    else:
        driver.run_until_killed(point)
    shutil.rmtree(plain.checkpoint)
    plain.send(MORE)
    empty = _without(plain, "empty")
    naive = _without(plain, "naive", from_log=True)
    before = plain.found()
    how = give_back(plain)
    if how == REFUSED:
        rows = compare(before, plain.found())
    else:
        plain.run(LARGER)
        rows = compare(plain.sent, plain.found())
    return Outcome(plain=plain, ended=ended, how=how, rows=rows, empty=empty, naive=naive)


def _let_time_pass(events: Path) -> None:
    """Have the event log written long ago: a driver that ended just now may be running."""
    for each in events.rglob("*"):
        if each.is_file():
            os.utime(each, (_LONG_AGO,) * 2)


def give_back(plain: Plain) -> str:
    """Plan, rehearse and apply; return how it was done, or that it was refused."""
    _let_time_pass(plain.events)
    file = plain.home / "plan.json"
    asked = ["resume", str(plain.checkpoint), "--sink", str(plain.home / "out")]
    asked += ["--event-log", str(plain.events), "-o", str(file)]
    code, said = holdfast("plan", *asked)
    if code != ExitCode.DONE:
        return REFUSED
    words = decode_plan(file.read_bytes(), str(file)).words
    allowed = [part for word in words for part in ("--allow", word)]
    for arguments in ((), ("--execute", *allowed)):
        code, said = holdfast("apply", str(file), "--root", str(plain.home), *arguments)
        assert code == ExitCode.DONE, said
    named = {"own files": "file statistics", "taken back": "batch taken out", "agree": "agree"}
    shown = file.read_text()
    return next((how for text, how in named.items() if text in shown), "otherwise")


def _without(plain: Plain, name: str, *, from_log: bool = False) -> Difference:
    """Restart a copy without Holdfast; return what its sink then has."""
    home = plain.home.with_name(f"{plain.home.name}-{name}")
    shutil.copytree(plain.home / "out", home / "out")
    for each in (home / "out/_spark_metadata").glob("[0-9]*"):  # it has absolute paths
        each.write_text(each.read_text().replace(f"{plain.home}/", f"{home}/"))
        each.with_name(f".{each.name}.crc").unlink(missing_ok=True)
    if plain.source == "delta":
        (home / "in").symlink_to(plain.home / "in")
    if from_log:
        _write_naively(plain, home / "checkpoint/orders")
    plain.run(LARGER, home)
    return compare(plain.sent, plain.found(home))


def _write_naively(plain: Plain, checkpoint: Path) -> None:
    """Write the checkpoint that the last progress in the event log gives, and ask nobody."""
    events = str(plain.events)
    (query,) = read_queries(events)
    last = read_event_log(events, query_id=query.query_id).batches[-1]
    line = '{"batchWatermarkMs":0,"batchTimestampMs":0,"conf":{}}'
    for log in ("offsets", "commits"):
        (checkpoint / log).mkdir(parents=True)
    (checkpoint / "metadata").write_text(f'{{"id":"{query.query_id}"}}')
    source = last.sources[0]
    (checkpoint / f"offsets/{last.batch_id - 1}").write_text(f"v1\n{line}\n{source.start}")
    (checkpoint / f"offsets/{last.batch_id}").write_text(f"v1\n{line}\n{source.end}")
    (checkpoint / f"commits/{last.batch_id}").write_text('v1\n{"nextBatchWatermarkMs":0}')


@contextmanager
def benches() -> Iterator[Callable[[str, str, int], Plain]]:
    """Give what makes a plain stream for each source and sink."""
    with Kafka() as kafka, scratch_directory() as scratch:
        spark = start_session(scratch, {})

        def make(source: str, sink: str, number: int) -> Plain:
            home = scratch / f"{source}-{sink}-{number}"
            home.mkdir()
            if source == "kafka":
                kafka.create_topic(home.name, partitions=2)
            return Plain(
                spark=spark,
                kafka=kafka,
                home=home,
                source=source,
                sink=sink,
                events=home / "events",
            )

        yield make
        spark.stop()


@click.command(help=__doc__)
@click.option("--runs", default=30, show_default=True, help="Every stream and end in turn.")
@click.option("--only", metavar="SOURCE/SINK")
def main(*, runs: int, only: str | None) -> None:
    """Run every stream with every end."""
    ensure_archive()
    cells = [
        (ended, source, sink)
        for ended in ENDS
        for source, sink in STREAMS
        if only in (None, f"{source}/{sink}")
    ]
    outcomes = []
    with benches() as make:
        for number, (ended, source, sink) in zip(range(1, runs + 1), cycle(cells), strict=False):
            click.echo(f"--- run {number}: {source}/{sink}, {ended}")
            outcomes.append(run(make(source, sink, number), ended))
            click.echo(outcomes[-1].line)
    click.echo(f"\n{HEAD}")
    for each in outcomes:
        click.echo(each.line)
    bad = sum(not each.rows.exact for each in outcomes)
    click.echo(f"{len(outcomes)} runs: {len(outcomes) - bad} exact, {bad} not.")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
