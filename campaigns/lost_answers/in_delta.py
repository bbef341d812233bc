"""Commits to Delta that land and end in an error all the same, in one long stream.

On disk Delta itself fails after its commit: a table that keeps a manifest for other engines writes
it after every commit, and fails the whole statement when it cannot. On S3 the answer to the PUT of
the commit is lost, and no repetition of it gets through: what S3A then throws fails the statement.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from unittest.mock import patch

from pyspark.sql import SparkSession

from campaigns.judging import assert_passed, recorded
from campaigns.kills.delta_points import LOG
from campaigns.lost_answers.in_postgres import run_session
from campaigns.outcome import looks_of
from campaigns.streams import guarded_to_delta
from campaigns.streams.delta_workload import Workload
from holdfast.drills.drill import Recording
from holdfast.drills.polling_reader import polling_reader
from holdfast.sinks.delta import commit, writer
from lab.faults.proxy import Trigger
from lab.faults.s3_proxy import S3Proxy

HOOK_FAILED = "DELTA_POST_COMMIT_HOOK_FAILED"
PUT_FAILED = "Writing Object on"
EVERY_TRY = 1_000
_HOOKED = "delta.compatibility.symlinkFormatManifest.enabled"
_COLUMNS = {"appended": "id BIGINT", "merged": "key BIGINT, id BIGINT"}
FEW_TRIES = {
    "spark.hadoop.fs.s3a.attempts.maximum": "1",
    "spark.hadoop.fs.s3a.retry.limit": "1",
    "spark.hadoop.fs.s3a.retry.interval": "20ms",
}
"""How often S3A repeats a request: by default for minutes."""


class Fault(Protocol):
    """What makes a commit fail after it has landed."""

    says: str | None
    """What the error must say; None when there must be none."""

    def break_(self) -> None:
        """Have the next commit fail."""

    def heal(self) -> None:
        """Let the next one through; check that the last one was struck."""


class Hook:
    """The manifest that Delta writes after a commit cannot be written."""

    says: str | None = HOOK_FAILED

    def __init__(self, table: Path) -> None:
        self._manifest = table / "_symlink_format_manifest"

    def break_(self) -> None:
        """Put a file where its directory would be."""
        shutil.rmtree(self._manifest, ignore_errors=True)
        self._manifest.write_text("in the way")

    def heal(self) -> None:
        """Take it away."""
        self._manifest.unlink()


class LostAnswer:
    """The answer to the PUT of the commit is lost, and those to its repetitions."""

    def __init__(self, proxy: S3Proxy, *, tries: int, says: str | None) -> None:
        self.says = says
        self._proxy = proxy
        self._tries = tries
        self._lost: Trigger | None = None

    def break_(self) -> None:
        """Lose them from the next commit on."""
        self._lost = self._proxy.lose_answers(LOG, tries=self._tries)

    def heal(self) -> None:
        """Lose no more."""
        self._proxy.answer_again()
        assert self._lost is not None
        assert self._lost.is_fired, "no answer was lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """What became of a stream whose commits landed and failed."""

    faults: int
    looks: int
    """Of a reader, each at whole batches."""


class Breaker:
    """Has one commit after the other fail; hears where the batch is, in the batch's own thread."""

    def __init__(
        self, recording: Recording, fault: Fault, faults: int, *, errors: list[str]
    ) -> None:
        """Break before every commit, so many times; what commits raise is in `errors`."""
        self._recording = recording
        self._fault = fault
        self._left = faults
        self._errors = errors
        self._broken = False
        self.faults = 0

    def __call__(self, point: str) -> None:
        """Hear of a point."""
        if point == "S3" and self._left:
            self._left -= 1
            self._broken = True
            self._fault.break_()
        elif point == "S6" and self._broken:
            self._fault.heal()
        elif point == "S7" and self._broken:
            self._broken = False
            self.faults += 1
            self._check()

    def _check(self) -> None:
        """Check what the commit said, and the table: exactly the batches that were committed."""
        said = self._errors.pop() if self._errors else None
        assert not self._errors, "a batch was committed more than once"
        expected = self._fault.says
        assert (said is None) == (expected is None), said
        assert expected is None or expected in str(said), said
        told = self._recording.look()[0].parts
        assert told == self.faults, f"the ledger tells of {told} batches, not {self.faults}"


def fail_after_commits(
    begin: Callable[[], Any], work: Workload, fault: Fault, *, faults: int
) -> Failed:
    """Have commits fail after they have landed while a reader looks on; then run to the end.

    The query must live through all of them.

    Raises:
        AssertionError: Something was lost or duplicated, a fault did not happen, or the reader
            saw a part of a batch.
        StreamingQueryException: A batch that had landed was not recognised.
    """
    with recorded(work) as recording, _overheard() as errors:
        breaker = Breaker(recording, fault, faults, errors=errors)
        with polling_reader(work.reader(), recording.write):
            run_session(begin, recording, listener=breaker)
        assert breaker.faults == faults, f"{breaker.faults} of {faults} commits failed"
        assert_passed(recording.check())
        return Failed(faults=faults, looks=looks_of(recording.history))


@contextmanager
def _overheard() -> Iterator[list[str]]:
    """Write down what commits raise; the sink does not tell when it knows better."""
    errors: list[str] = []

    def overhear(run: Callable[..., None]) -> Callable[..., None]:
        def running(*given: Any) -> None:
            try:
                run(*given)
            except Exception as error:
                errors.append(str(error))
                raise

        return running

    append = overhear(commit.append)
    with (
        patch.object(commit, "append", append),  # as the ledger's step calls it
        patch.object(writer, "append", append),
        patch.object(writer, "merge", overhear(commit.merge)),
    ):
        yield errors


def stream_of(spark: SparkSession, work: Workload) -> Callable[[], Any]:
    """Return what starts the stream of a workload."""

    def begin() -> Any:
        rows = guarded_to_delta.read(spark, str(work.home / "files"))
        shape = guarded_to_delta.SHAPES[work.shape](rows, work.lake)
        return guarded_to_delta.begin(shape, root=f"{work.lake}/streams")

    return begin


def make_hooked_table(spark: SparkSession, work: Workload) -> Hook:
    """Make the table with a hook that runs after every commit."""
    table = Path(work.lake, "table")
    spark.sql(
        f"CREATE TABLE delta.`{table}` ({_COLUMNS[work.shape]}) USING delta"
        f" TBLPROPERTIES ('{_HOOKED}' = 'true')"
    )
    return Hook(table)
