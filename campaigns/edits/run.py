"""Runs one edit: the old code under guard, the verdict on the new code, and Spark on a copy."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from campaigns.edits.edit import Build, Edit, Scene
from holdfast.proof.multiset import Difference, compare
from holdfast.rules.compatibility import Compatibility, StreamCheck
from holdfast.streams.heartbeat import THREAD

STREAM = "totals"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was said of an edit, and what Spark did."""

    unchanged: StreamCheck
    """What was said of the old code."""
    said: StreamCheck
    has_written: bool
    """Whether a file changed while the code was checked."""
    error: str
    """Of the restart; empty when it ran."""
    difference: Difference
    """What the restarted query wrote, against the same code on all the data from the beginning.

    In append mode every row is compared, in other modes those of later batches.
    """

    @property
    def seen(self) -> str:
        """What Spark did, in few words."""
        if self.error:
            return f"fails: {self.error}"
        if self.difference.exact:
            return "right rows"
        wrong = max(self.difference.missing, self.difference.duplicated + self.difference.foreign)
        return f"{wrong} {'row' if wrong == 1 else 'rows'} wrong, without a warning"

    def problems(self, edit: Edit) -> list[str]:
        """Return how what was said differs from what was seen; empty when they agree."""
        said, is_right = self.said.verdict, not self.error and self.difference.exact
        found = [] if said is edit.expects else [f"{edit.expects} was expected"]
        if self.unchanged.verdict is not Compatibility.COMPATIBLE:
            found.append(f"the old code was said to be {self.unchanged.verdict}")
        if self.has_written:
            found.append("the check has written something")
        is_wrong = {
            Compatibility.COMPATIBLE: not is_right,
            Compatibility.WITH_NOTES: bool(self.error),
            Compatibility.INCOMPATIBLE: is_right,
            Compatibility.UNKNOWN: True,
        }[said]
        return [*found, f"Spark did otherwise: {self.seen}"] if is_wrong else found


def run(edit: Edit, spark: SparkSession, scene: Scene) -> Outcome:
    """Run an edit."""
    root, edited = scene.place / "streams", spark.newSession()
    mode = edit.mode_after or edit.mode
    first, restarted, fresh = Kept(), Kept(), Kept()
    old = _pipeline(edit.before, scene, into=hf.ForeachBatch(first), mode=edit.mode)
    new = _pipeline(edit.after, scene, into=hf.ForeachBatch(first), mode=mode)
    edit.feed(scene, 0)
    for query in old.start(spark, trigger={"availableNow": True}).values():
        query.awaitTermination()
    _wait_until_released()
    for name, value in edit.settings.items():
        edited.conf.set(name, value)
    before = _snapshot(scene.place)
    (unchanged,), (said,) = old.check(spark), new.check(edited)
    has_written = _snapshot(scene.place) != before
    shutil.copytree(root / STREAM, scene.place / "copy")
    edit.feed(scene, 1)
    error = _restart(edit.after(edited, scene), scene.place / "copy", into=restarted, mode=mode)
    _restart(edit.after(edited, scene), scene.place / "fresh", into=fresh, mode=mode)
    is_whole = edit.mode == mode == "append"
    expected = fresh.rows if is_whole else fresh.later_rows
    found = [*first.rows, *restarted.rows] if is_whole else restarted.rows
    return Outcome(
        unchanged=unchanged,
        said=said,
        has_written=has_written,
        error=error,
        difference=compare(expected, found),
    )


class Kept:
    """A sink that keeps rows, by the batch that wrote them."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._batches: dict[int, list[str]] = {}

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Keep the rows of a batch."""
        self._batches[number] = [repr(tuple(row)) for row in batch.collect()]

    @property
    def rows(self) -> list[str]:
        """All rows."""
        return [row for rows in self._batches.values() for row in rows]

    @property
    def later_rows(self) -> list[str]:
        """Those of later batches than the first."""
        return [row for number, rows in self._batches.items() if number for row in rows]


def _pipeline(build: Build, scene: Scene, *, into: hf.ForeachBatch, mode: str) -> hf.Pipeline:
    pipeline = hf.Pipeline("edits", root=str(scene.place / "streams"))
    pipeline.stream(STREAM, into=into, outputMode=mode)(lambda spark: build(spark, scene))
    return pipeline


def _restart(df: DataFrame, checkpoint: Path, *, into: Kept, mode: str) -> str:
    """Run a query on plain Spark until its sources have no more; return its error, or nothing."""
    writer = df.writeStream.foreachBatch(into).outputMode(mode).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        return _shortened(str(error))
    return ""


def _shortened(error: str) -> str:
    """Return what is special in Spark's message."""
    lines = [line for line in error.splitlines() if line.strip() and "STREAM_FAILED" not in line]
    first = error.partition("terminated with exception: ")[2].partition("\n")[0]
    return (first or lines[0])[:110]


def _snapshot(place: Path) -> dict[str, tuple[int, int]]:
    files = (path for path in sorted(place.rglob("*")) if path.is_file())
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in files}


def _wait_until_released() -> None:
    """Wait until the guarded query has written down how it ended."""
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(60)
