"""Starting a query on a damaged copy of its checkpoint: what the start did, and what was said."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.drills.kill.waiting import wait_until
from holdfast.evidence import NextStart, Query, Refuses, Resumes, RunsAgain, StartsFresh
from holdfast.evidence.collect import collect
from holdfast.spark_versions import SparkVersion
from holdfast.storage import open_reader
from tests.spark.damages import Damage
from tests.spark.spark_errors import NO_FORMAT_2
from tests.spark.spark_version import SPARK, NotThere, of_version

Rows = list[tuple[object, ...]]
Did = int | str | tuple[int, str]
"""The first batch that reaches the sink, the words of the error, or one and then the other."""
Truth = Did | NotThere


def truth_since(versions: Mapping[SparkVersion, Truth]) -> Truth:
    """Return the truth about this Spark, from those by the version that each begins with."""
    return of_version(versions)


BATCHES = 5


@dataclass
class Happened:
    """What a start did."""

    batches: dict[int, Rows] = field(default_factory=dict)
    """Those that reached the sink."""
    error: str | None = None
    called: list[int] = field(default_factory=list, compare=False)
    """Those the sink was called with, whether or not it got their rows."""


def read_files(spark: SparkSession, files: Path) -> DataFrame:
    """Read a directory, a file per batch."""
    return spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(files))


def add_file(files: Path, number: int, *lines: str) -> None:
    """Add a file; Spark takes files in the order of their times."""
    file = files / f"f{number}"
    file.write_text("".join(f"{line}\n" for line in lines))
    os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


def start(
    stream: DataFrame,
    checkpoint: Path | str,
    *,
    mode: str = "append",
    after_batch: Callable[[int], None] = lambda _: None,
) -> Happened:
    """Start a query and wait until it has read what waits, or fails."""
    happened = Happened()

    def record(batch: DataFrame, number: int) -> None:
        happened.called.append(number)
        happened.batches[number] = sorted(tuple(row) for row in batch.collect())
        after_batch(number)

    try:
        query = (
            stream.writeStream.foreachBatch(record)
            .outputMode(mode)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    except (PySparkException, Py4JJavaError) as error:
        happened.error = _words_of(error)
    return happened


def _words_of(error: Exception) -> str:
    """Return Spark's message, and the class of a cause that has no words to put into it."""
    cause = str(getattr(error, "_cause", None) or "")
    return str(error) if ":" in cause else f"{error}\n{cause}"


def did(happened: Happened, truth: Did) -> bool:
    """Return whether a start did what is known of this Spark."""
    match truth:
        case int(batch):
            return min(happened.batches, default=None) == batch and happened.error is None
        case str(words):
            return happened.batches == {} and words in (happened.error or "")
        case (batch, words):
            return list(happened.batches) == [batch] and words in (happened.error or "")


def predict(checkpoint: Path, query: Query | None = None) -> NextStart:
    """Say what the next start will do, after a look into every state file that it loads."""
    return collect(open_reader(str(checkpoint)), rows=True).next_start(SPARK, query=query)


def agrees(predicted: NextStart, happened: Happened, *, rows_of: Callable[[int], Rows]) -> bool:
    """Return whether a start did what was said, given the rows that each batch had at first."""
    first = min(happened.batches, default=None)
    match predicted:
        case Resumes(batch_id=batch, then=None):
            return first == batch and happened.error is None
        case RunsAgain(batch_id=batch, then=None):
            again = happened.batches.get(batch) == rows_of(batch)
            return first == batch and again and happened.error is None
        case RunsAgain(batch_id=batch, then=error):
            again = happened.batches == {batch: rows_of(batch)}
            return again and error is not None and error in (happened.error or "")
        case StartsFresh(then=error):
            fails = error is not None and error in (happened.error or "")
            return first == 0 and (fails if error else happened.error is None)
        case Refuses(error=error, in_batch=batch):
            called = [] if batch is None else [batch]
            return first is None and happened.called == called and error in (happened.error or "")
        case _:
            return False


COUNTS = Query(sources=1, operators=("stateStoreSave",))


@dataclass(frozen=True)
class Original:
    """A query that counts lines in state: batches 0 to 4 are committed, and one file waits."""

    session: SparkSession
    home: Path

    @property
    def files(self) -> DataFrame:
        return read_files(self.session, self.home / "input")

    def damaged(self, target: Path, damage: Damage) -> Path:
        """Return a copy of the checkpoint after the damage."""
        shutil.copytree(self.home / "checkpoint", target)
        damage(target)
        return target

    def start(
        self, checkpoint: Path, *, after_batch: Callable[[int], None] = lambda _: None
    ) -> Happened:
        lines = count_lines(self.files)
        return start(lines, checkpoint, mode="update", after_batch=after_batch)

    def play(self, damage: Damage, truth: Truth, target: Path) -> None:
        """Start the query on a damaged copy: Spark does what is known, and what we say."""
        if isinstance(truth, NotThere):
            pytest.skip(truth.reason)
        predicted = predict(self.damaged(target, damage), COUNTS)
        happened = self.start(target)
        told = f"{predicted}\n{happened.batches}\n{happened.error}"
        assert did(happened, truth), told
        assert agrees(predicted, happened, rows_of=counted), told
        if happened.error is None:
            assert not getattr(predicted, "rereads", ()), told
            newest = happened.batches[max(happened.batches)]
            assert counted(BATCHES)[0] in newest, f"not every file is counted once: {told}"


STORE = "spark.sql.streaming.stateStore."
STORES = "org.apache.spark.sql.execution.streaming.state."
ROCKSDB = {STORE + "providerClass": STORES + "RocksDBStateStoreProvider"}
CHANGELOG = {
    **ROCKSDB,
    STORE + "rocksdb.changelogCheckpointing.enabled": "true",
    STORE + "minDeltasForSnapshot": "3",
}
FORMAT_2 = {**CHANGELOG, STORE + "checkpointFormatVersion": "2"}
KINDS: dict[str, dict[str, str]] = {
    "deltas": {},
    "snapshot": {STORE + "minDeltasForSnapshot": "2"},
    "zip": ROCKSDB,
    "changelog": CHANGELOG,
    "format-2": FORMAT_2,
}
"""Settings by kind of state. Of version 3 each has a snapshot but the first, which has none."""
UNLOADS = of_version({(3, 5): False, (4, 1): True})
"""Whether Spark can write a snapshot in the task that is due to; before, a thread did it later."""
HAS_FORMAT_2 = of_version({(3, 5): False, (4, 0): True})
SNAPSHOTS = {"snapshot": "3.snapshot", "changelog": "3.zip", "format-2": "3_*.zip"}


def new_session(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """Return a session that loads state from files for each batch and then writes its snapshot."""
    session = spark.newSession()
    prompt = ("unloadOnCommit", "true") if UNLOADS else ("maintenanceInterval", "100ms")
    for name, value in {STORE + prompt[0]: prompt[1], **settings}.items():
        session.conf.set(name, value)
    return session


def count_lines(lines: DataFrame) -> DataFrame:
    return lines.groupBy(F.col("value").alias("key")).count()


def counted(batch: int) -> Rows:
    """Return what batch n of an undamaged run says: file n has the lines a, b and k<n>."""
    return [("a", batch + 1), ("b", batch + 1), (f"k{batch}", 1)]


def _await_snapshot(kind: str, home: Path) -> Callable[[int], None]:
    """Return what waits, once batch 2 is done, for the thread that writes snapshots of state."""

    def wait(batch: int) -> None:
        if UNLOADS or batch != 2 or kind not in SNAPSHOTS:
            return
        state = home / "checkpoint/state/0"
        files = f"[01]/{SNAPSHOTS[kind]}"
        assert wait_until(lambda: len([*state.glob(files)]) == 2, seconds=60), files

    return wait


_made: dict[str, Original] = {}


def original_of(kind: str, spark: SparkSession, folders: pytest.TempPathFactory) -> Original:
    """Run the query that counts, with one kind of state; once, as tests damage copies."""
    if kind == "format-2" and not HAS_FORMAT_2:
        pytest.skip(NO_FORMAT_2.reason)
    if kind not in _made:
        home = folders.mktemp(kind)
        (home / "input").mkdir()
        for number in range(BATCHES):
            add_file(home / "input", number, "a", "b", f"k{number}")
        original = Original(new_session(spark, KINDS[kind]), home)
        happened = original.start(home / "checkpoint", after_batch=_await_snapshot(kind, home))
        assert happened == Happened(batches={n: counted(n) for n in range(BATCHES)})
        add_file(home / "input", BATCHES, "a", "b", f"k{BATCHES}")
        _made[kind] = original
    return _made[kind]
