"""Built-in streams that ran once under a trace, put back to where a crash could leave them."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import psycopg
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from campaigns.crash_states import recorded_streams
from holdfast.drills.builtin.cells import BUILTIN, BuiltinSubject
from holdfast.drills.builtin.places import DSN_NAME
from holdfast.drills.builtin.workload import Shape, write_files
from holdfast.drills.kill import Driver
from holdfast.drills.kill.driver import RUN_SECONDS
from holdfast.drills.programs import builtin
from holdfast.proof.multiset import compare
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.streams.heartbeat import THREAD
from lab.faults.trace import Operation, Prefixes, read_trace, traced

_KEEP_STATE = {"spark.sql.streaming.minBatchesToRetain": "100"}
"""In one session the state stores of the last replay live on for a minute, and would delete files
of an old version that they do not know: those of the state that is replayed now."""
SECONDS_PER_FILE = 10.0
"""At most, of the recorded run."""
_KEEP_LEDGER = """\
CREATE TABLE versions (number serial, was holdfast.ledger);
CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO versions (was) VALUES (NEW); RETURN NEW; END $$;
CREATE TRIGGER keep AFTER INSERT OR UPDATE ON holdfast.ledger FOR EACH ROW EXECUTE FUNCTION keep();
"""
_KEPT = """\
DROP TRIGGER keep ON holdfast.ledger;
CREATE TABLE kept_history AS SELECT * FROM holdfast.history;
"""
_OLD_LEDGER = (
    "INSERT INTO holdfast.ledger SELECT (was).* FROM versions"
    " WHERE (was).sink = %s AND (was).last_batch = %s ORDER BY number DESC LIMIT 1"
)
_OLD_HISTORY = (
    "INSERT INTO holdfast.history SELECT * FROM kept_history WHERE sink = %s AND batch < %s"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a stream is, by its files: how many entries each log has had."""

    sources: int = 0
    offsets: int = 0
    commits: int = 0
    contracts: int = 0
    runs: int = 0

    def after(self, operation: Operation) -> Progress:
        """Return how far it is after one more operation."""
        path = str(operation.path)
        entry = re.search(r"/(sources/0|offsets|commits)/([0-9]+)(?:\.compact)?$", path)
        if operation.what != "unlink" and entry:
            return replace(self, **{entry[1].removesuffix("/0"): int(entry[2]) + 1})
        record = re.search(r"/_holdfast/.*/(contracts|runs)/", path)
        return replace(self, **{record[1]: 1}) if record else self


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a crash leaves behind."""

    done: int
    """Operations on files."""
    progress: Progress
    batches: int | None
    """In the table and its ledger; None when the ledger has no row, or the table is files too."""


class Sink(Protocol):
    """A recorded stream's table."""

    def possible(self, progress: Progress, /) -> Iterable[int | None]:
        """Yield how many batches may be in it, when its files are so far."""

    def restore(self, batches: int | None) -> None:
        """Make table and ledger as they were with so many."""


@dataclass(frozen=True, kw_only=True)
class PostgresSink:
    """The files do not say whether a batch is in it, until its commit is written."""

    dsn: str
    table: str
    shape: Shape

    def possible(self, progress: Progress) -> Iterable[int | None]:
        """Both with the batch and without; the ledger's row comes between contract and run."""
        is_open = progress.runs or progress.offsets
        if not is_open:
            yield None
        if is_open or progress.contracts:
            yield progress.commits
        if progress.offsets > progress.commits:
            yield progress.commits + 1

    def restore(self, batches: int | None) -> None:
        """Fill it anew. TRUNCATE would make it another table to the ledger."""
        with psycopg.connect(self.dsn) as connection, connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {self.table}".encode())  # noqa: S608 - a name of ours
            with cursor.copy(f"COPY {self.table} FROM STDIN".encode()) as copy:
                for row in self.shape.after(batches or 0):
                    copy.write_row(row)
            cursor.execute("DELETE FROM holdfast.ledger WHERE sink = %s", [self.table])
            cursor.execute("DELETE FROM holdfast.history WHERE sink = %s", [self.table])
            if batches is not None:
                cursor.execute(_OLD_LEDGER, [self.table, batches - 1])
                cursor.execute(_OLD_HISTORY, [self.table, batches])


class DeltaSink:
    """Its files are in the trace: a prefix of the operations is a state of the table too."""

    def possible(self, _: Progress) -> Iterable[int | None]:
        """Nothing is to be guessed."""
        yield None

    def restore(self, batches: int | None) -> None:
        """Nothing is to be done."""


def find_states(operations: Sequence[Operation], sink: Sink) -> Iterator[State]:
    """Yield every state, in the order of the run."""
    progress = Progress()
    for done in range(len(operations) + 1):
        if done:
            progress = progress.after(operations[done - 1])
        for batches in sink.possible(progress):
            yield State(done=done, progress=progress, batches=batches)


class Recording:
    """A stream that ran once; its states are made again and again at the same place."""

    def __init__(self, subject: BuiltinSubject, *, sink: Sink, operations: list[Operation]) -> None:
        """Know what it did to its files; all of its source is there."""
        self.subject = subject
        settings = {**subject.config["settings"], **_KEEP_STATE}
        self.config = {**subject.config, "settings": settings}
        self.sink = sink
        self.operations = operations
        self.prefixes = Prefixes(operations, below=_live(subject))
        self.name = subject.stream.name
        self.files, self.later = subject.home / "files", subject.home / "later"
        self.names = sorted(path.name for path in self.files.iterdir())
        self.later.mkdir()

    def restore(self, state: State) -> None:
        """Make files, table and ledger as the crash has left them."""
        self.prefixes.make(state.done)
        self.sink.restore(state.batches)

    def show(self, files: int) -> int:
        """Let the source hold so many files and no more; return how many these are."""
        for number, name in enumerate(self.names):
            here, there = self.files / name, self.later / name
            if number < files and there.exists():
                there.rename(here)
            elif number >= files and here.exists():
                here.rename(there)
        return min(files, len(self.names))

    def go_on(self, session: SparkSession) -> None:
        """Start the stream, and let it run over all there is, until its lease is given up."""
        jvm: Any = session._jvm  # noqa: SLF001
        # A new process does not know what a table once was.
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        try:
            builtin.run(session, self.config)
        finally:
            for thread in threading.enumerate():
                if thread.name == THREAD:
                    thread.join()

    def start_plain(self, session: SparkSession) -> str | None:
        """Start it on the same checkpoint without the guard; return the error it ends with."""
        config = self.config
        stream = builtin.read(session, config).writeStream.format("noop")
        stream = stream.outputMode(builtin.MODES[config["shape"]]).trigger(availableNow=True)
        checkpoint = str(Path(config["root"], config["stream"]))
        try:
            stream.option("checkpointLocation", checkpoint).start().awaitTermination()
        except StreamingQueryException as error:
            conditions: list[str] = re.findall(r"\[([A-Z_.]{4,})\]", str(error))
            return conditions[-1]  # one is put into another
        return None

    def judge(self, files: int) -> str | None:
        """Compare the table with what so many files make; return what is wrong."""
        for place in self.subject.open_places():
            for seen in place.look():
                found = compare(self.subject.stream.shape.after(files), seen.rows)
                if not found.exact or seen.parts != files:
                    return f"{found}, and the ledger tells of {seen.parts} of {files} files"
        return None


def record(home: Path, *, files: Mapping[str, int]) -> Sequence[Recording]:
    """Run built-in streams once, over so many files each; the environment has the DSN."""
    dsn = os.environ[DSN_NAME]
    subjects = [
        BuiltinSubject(stream=BUILTIN[name], home=home / name, dsn=dsn, files=count)
        for name, count in files.items()
    ]
    for subject in subjects:
        write_files(subject.home / "files", files=subject.files)
        for place in subject.places:
            place.prepare()
    with psycopg.connect(dsn) as connection:
        ensure_tables(connection)
        connection.execute(_KEEP_LEDGER.encode())
    program = [recorded_streams.__file__, json.dumps([each.config for each in subjects])]
    driver = Driver(
        program,
        environment=traced(home / "trace"),
        directory=home / "runs",
        seconds=RUN_SECONDS + SECONDS_PER_FILE * sum(files.values()),
    )
    driver.run_to_end()
    with psycopg.connect(dsn) as connection:
        connection.execute(_KEPT.encode())
    return [_recording(subject, home / "trace") for subject in subjects]


def _recording(subject: BuiltinSubject, trace: Path) -> Recording:
    sink: Sink = DeltaSink()
    if subject.stream.into == ("postgres",):
        (place,) = subject.config["sinks"]
        shape, dsn = subject.stream.shape, subject.dsn or ""
        sink = PostgresSink(dsn=dsn, table=place["table"], shape=shape)
    operations = read_trace(trace, below=_live(subject))
    recording = Recording(subject, sink=sink, operations=operations)
    assert recording.judge(len(recording.names)) is None, "the recorded run itself"
    return recording


def _live(subject: BuiltinSubject) -> Sequence[Path]:
    """Return where all its files are: checkpoint and record, and a table of files."""
    return subject.home / "streams", subject.home / "table"
