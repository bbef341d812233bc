"""What Spark will do when the query is started again, as far as the logs decide it.

From Spark 4.2 `runtime/MicroBatchExecution.scala` (populateStartOffsets), `StreamExecution.scala`.
With O the newest offset entry and C the newest commit entry:

    O = C        a new batch, C + 1
    O = C + 1    batch O again, with exactly its range: the sink decides whether that doubles data
    O > C + 1    only batch O again: what lies between reaches the sink only if it already had
    O < C        batch O again, and then Spark fails at commits/O, which is there: at every start

The entry before O must be there, and O, the one before it and C must be readable; older entries do
not matter. On local disk an entry that was deleted without its checksums (`.<batch>.crc`) cannot be
written again. State, the source and the sink can still refuse; they are not looked at here.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, parse_name
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId

SparkVersion = tuple[int, int]

NEWEST_SPARK: SparkVersion = (4, 2)
"""The version that predictions are for unless another is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumes:
    """A new batch, from where the last one ended."""

    batch_id: BatchId
    follows_from: tuple[str, ...]
    then: str | None = None
    """The error Spark fails with after the sink has been written; None for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsAgain:
    """A batch that was planned before, with the same range."""

    batch_id: BatchId
    follows_from: tuple[str, ...]
    passed_over: tuple[BatchId, ...] = ()
    """Batches that were planned, have no commit entry and are not run again."""
    then: str | None = None
    """The error Spark fails with after the sink has been written, at every start; None for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartsFresh:
    """Batch 0: the options of the source decide where it begins."""

    follows_from: tuple[str, ...]
    new_query_id: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuses:
    """Spark does not start: nothing is run and nothing is written."""

    error: str
    """What Spark's message names: an error condition, or words of it."""
    because: str
    follows_from: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """It cannot be told."""

    because: str
    follows_from: tuple[str, ...]


NextStart = Resumes | RunsAgain | StartsFresh | Refuses | Unknown


def predict_next_start(checkpoint: Checkpoint, *, spark: SparkVersion = NEWEST_SPARK) -> NextStart:
    """Say what the next start of the query will do, by its logs alone."""
    stopped = _judge_metadata(checkpoint, spark)
    if stopped is not None:
        return stopped
    if not checkpoint.offsets:
        return _without_offsets(checkpoint, spark)
    stopped = _judge_needed_entries(checkpoint)
    if stopped is not None:
        return stopped
    newest = max(checkpoint.offsets)
    committed = max(checkpoint.commits, default=None)
    files = tuple(
        f"{log}/{batch}"
        for log, batch in ((OFFSETS, newest), (COMMITS, committed))
        if batch is not None
    )
    if committed == newest:
        return _resume(checkpoint, BatchId(newest + 1), files)
    between = range((-1 if committed is None else committed) + 1, newest)
    return RunsAgain(
        batch_id=newest,
        follows_from=files,
        passed_over=tuple(map(BatchId, between)),
        then=_blocked(checkpoint, COMMITS, newest),
    )


def _resume(checkpoint: Checkpoint, batch: BatchId, files: tuple[str, ...]) -> NextStart:
    error = _blocked(checkpoint, OFFSETS, batch)
    if error is not None:
        sidecar = f"{OFFSETS}/.{batch}.crc"
        because = f"{sidecar} is there without {OFFSETS}/{batch}"
        return Refuses(error=error, because=because, follows_from=(*files, sidecar))
    return Resumes(batch_id=batch, follows_from=files, then=_blocked(checkpoint, COMMITS, batch))


def _blocked(checkpoint: Checkpoint, log: str, batch: BatchId) -> str | None:
    """Return the error with which Spark fails to write an entry; None when it can."""
    if batch in (checkpoint.offsets if log == OFFSETS else checkpoint.commits):
        return "CONCURRENT_STREAM_LOG_UPDATE"
    # Misleading: there is no other query, only a forgotten file.
    forgotten = f"{log}/.{batch}.crc" in checkpoint.lone_sidecars
    return "Multiple streaming queries are concurrently using" if forgotten else None


def _judge_metadata(checkpoint: Checkpoint, spark: SparkVersion) -> Refuses | Unknown | None:
    if isinstance(checkpoint.metadata, Unparsed):
        return _unusable(checkpoint.metadata, error="com.fasterxml.jackson")
    has_logs = bool(checkpoint.offsets or checkpoint.commits)
    if checkpoint.metadata is None and has_logs and spark >= (4, 2):
        return Refuses(
            error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
            because="metadata is not there, and there are entries of a query",
            follows_from=(METADATA,),
        )
    return None


def _without_offsets(checkpoint: Checkpoint, spark: SparkVersion) -> NextStart:
    files = tuple(f"{COMMITS}/{batch}" for batch in checkpoint.commits)
    first = [path for path in checkpoint.leftovers if _would_be(path, f"{OFFSETS}/0")]
    if checkpoint.commits and spark >= (4, 2):
        return Refuses(
            error="assertion failed",
            because="offsets is empty and commits is not",
            follows_from=files,
        )
    if (checkpoint.commits or first) and spark >= (4, 1):
        return Refuses(
            error="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
            because="the first batch wants an empty checkpoint",
            follows_from=(*files, *first),
        )
    return StartsFresh(follows_from=(OFFSETS,), new_query_id=checkpoint.metadata is None)


def _would_be(leftover: str, target: str) -> bool:
    directory, _, _ = leftover.rpartition("/")
    return f"{directory}/{parse_name(leftover).target}" == target


def _judge_needed_entries(checkpoint: Checkpoint) -> Refuses | Unknown | None:
    newest = max(checkpoint.offsets)
    needed = [checkpoint.offsets[newest]]
    if newest > 0:
        before = checkpoint.offsets.get(BatchId(newest - 1))
        if before is None:
            return Refuses(
                error=f"batch {newest - 1} doesn't exist",
                because=(
                    f"Spark reads {OFFSETS}/{newest - 1} before it runs {newest}; only with async "
                    "progress tracking, which keeps some entries, it does without"
                ),
                follows_from=(f"{OFFSETS}/{newest}",),
            )
        needed.append(before)
    for entry in needed:
        if isinstance(entry, Unparsed):
            return _unusable(entry, error=entry.path.rpartition("/")[2])
    if checkpoint.commits:
        commit = checkpoint.commits[max(checkpoint.commits)]
        if isinstance(commit, Unparsed):
            return _unusable(commit, error=commit.path.rpartition("/")[2])
    return None


def _unusable(entry: Unparsed, *, error: str) -> Refuses | Unknown:
    because = f"{entry.path}: {entry.reason}"
    if entry.unread:
        return Unknown(because=because, follows_from=(entry.path,))
    return Refuses(error=error, because=because, follows_from=(entry.path,))
