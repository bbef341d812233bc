"""What Spark will do when the query is started again.

From Spark 4.2 `runtime/MicroBatchExecution.scala` (populateStartOffsets), `StreamExecution.scala`.
With O the newest offset entry and C the newest commit entry:

    O = C        a new batch, C + 1
    O = C + 1    batch O again, with exactly its range: the sink decides whether that doubles data
    O > C + 1    only batch O again: what lies between reaches the sink only if it already had
    O < C        batch O again, and then Spark fails at commits/O, which is there: at every start

The entry before O must be there, and O, the one before it and C must be readable; older entries do
not matter. On local disk an entry that was deleted without its checksums (`.<batch>.crc`) cannot be
written again. Then the logs of file sources and the state must hold what the batch needs. What the
source still has, what the sink holds and whether the query was changed is not looked at here.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, SOURCES, STATE
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.absent_state import judge_absent_state
from holdfast.evidence.needed_entries import (
    NO_SETTINGS,
    judge_needed_entries,
    judge_unusable,
    lacks_settings,
)
from holdfast.evidence.needed_sources import find_rereads, judge_sources
from holdfast.evidence.needed_state import judge_needed_state
from holdfast.evidence.obstacles import CONCURRENT, Obstacle, find_obstacles
from holdfast.evidence.outcomes import (
    NextStart,
    Refuses,
    Resumes,
    RunsAgain,
    StartsFresh,
    Unknown,
    UnknownCause,
)
from holdfast.evidence.query import Query, judge_query
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.evidence.state import NOT_LOOKED, Looked
from holdfast.ids import BatchId
from holdfast.spark_versions import BEHAVIOURS, Behaviour, SparkVersion

NEWEST_SPARK: SparkVersion = (4, 2)
"""The version that predictions are for unless another is named."""


def predict_next_start(
    checkpoint: Checkpoint,
    *,
    spark: SparkVersion = NEWEST_SPARK,
    query: Query | None = None,
    looked: Looked = NOT_LOOKED,
) -> NextStart:
    """Say what the next start of the query will do.

    Args:
        checkpoint: As read.
        spark: The version that will be started.
        query: What is known of the query that will be started; by default that it is the same.
        looked: What looking into state files has shown.
    """
    by_logs, does = predict_by_logs(checkpoint, spark=spark), BEHAVIOURS[spark]
    if not isinstance(by_logs, Resumes | RunsAgain):
        return by_logs
    if query is not None and (
        refused := judge_query(checkpoint, query, batch_id=by_logs.batch_id, does=does)
    ):
        return refused
    stopped = _judge_sources(checkpoint) or judge_needed_state(
        checkpoint, by_logs.batch_id, does=does, query=query, looked=looked
    )
    stopped = stopped or _judge_state_names(checkpoint, by_logs.batch_id)
    if stopped is not None:
        return stopped
    return by_logs if query is not None else judge_absent_state(checkpoint, by_logs)


def _judge_sources(checkpoint: Checkpoint) -> Refuses | Unknown | None:
    """Judge the logs of file sources: what is in them, then what is where the next entry goes."""
    stopped = judge_sources(checkpoint)
    if stopped is not None:
        return stopped
    for log in checkpoint.sources:
        newest = max((*log.entries, *log.compacts), default=-1)
        taken = next(_unwritable(checkpoint, f"{SOURCES}/{log.name}", newest + 1), None)
        if taken is not None:
            return _refuse(taken)
    return None


def predict_by_logs(checkpoint: Checkpoint, *, spark: SparkVersion = NEWEST_SPARK) -> NextStart:
    """Say what the logs alone decide: which batch is run."""
    does = BEHAVIOURS[spark]
    stopped = _judge_directories(checkpoint) or _judge_metadata(checkpoint, does)
    if stopped is not None:
        return stopped
    if not checkpoint.offsets:
        return _judge_misread(checkpoint) or _without_offsets(checkpoint, does)
    newest = max(checkpoint.offsets)
    committed = max(checkpoint.commits, default=None)
    stopped = _judge_misread(checkpoint) or judge_needed_entries(checkpoint, does)
    if stopped is not None:
        return stopped
    files = tuple(
        f"{log}/{batch}"
        for log, batch in ((OFFSETS, newest), (COMMITS, committed))
        if batch is not None
    )
    rereads = find_rereads(checkpoint, does)
    if committed == newest:
        found = _resume(checkpoint, BatchId(newest + 1), files)
        return replace(found, rereads=rereads) if isinstance(found, Resumes) else found
    last = -1 if committed is None else committed
    return RunsAgain(
        batch_id=newest,
        follows_from=files,
        passed_over=tuple(batch for batch in checkpoint.offsets if last < batch < newest),
        rereads=rereads,
        then=NO_SETTINGS
        if lacks_settings(checkpoint, newest)
        else _blocked(checkpoint, COMMITS, newest),
    )


def needed_version(checkpoint: Checkpoint) -> int:
    """Return the state version that the next start loads: as the batch it runs is numbered."""
    by_logs = predict_by_logs(checkpoint)
    if isinstance(by_logs, Resumes | RunsAgain):
        return by_logs.batch_id
    newest = max(checkpoint.offsets, default=-1)
    return newest + 1 if newest in checkpoint.commits else max(newest, 0)


def _resume(checkpoint: Checkpoint, batch: BatchId, files: tuple[str, ...]) -> Resumes | Refuses:
    error = _blocked(checkpoint, OFFSETS, batch)
    if error is not None and f"{OFFSETS}/.{batch}.crc" not in checkpoint.lone_sidecars:
        return _refuse(next(_unwritable(checkpoint, OFFSETS, batch)))
    if error is not None:
        sidecar = f"{OFFSETS}/.{batch}.crc"
        because = f"{sidecar} blocks the entry {OFFSETS}/{batch}, which Spark writes next"
        return Refuses(
            code=RefusalCode.ENTRY_BLOCKED_BY_CHECKSUM,
            error=error,
            because=because,
            follows_from=(*files, sidecar),
        )
    return Resumes(batch_id=batch, follows_from=files, then=_blocked(checkpoint, COMMITS, batch))


def _blocked(checkpoint: Checkpoint, log: str, batch: BatchId) -> str | None:
    """Return the error with which Spark fails to write an entry; None when it can."""
    if batch in (checkpoint.offsets if log == OFFSETS else checkpoint.commits):
        return CONCURRENT
    # Misleading: there is no other query, only a checksum without its entry.
    if f"{log}/.{batch}.crc" in checkpoint.lone_sidecars:
        return "Multiple streaming queries are concurrently using"
    return next((each.error for each in _unwritable(checkpoint, log, batch)), None)


def _unwritable(checkpoint: Checkpoint, log: str, batch: int) -> Iterator[Obstacle]:
    """Yield what is in the place of an entry that Spark writes."""
    for each in find_obstacles(checkpoint):
        if each.entry == f"{log}/{batch}" and not each.is_read:
            yield each


def _judge_misread(checkpoint: Checkpoint) -> Refuses | None:
    """Judge files that Spark takes for entries because of their names."""
    found = (each for each in find_obstacles(checkpoint) if each.is_read)
    first = next(found, None)
    return None if first is None else _refuse(first)


def _judge_state_names(checkpoint: Checkpoint, batch: BatchId) -> Refuses | None:
    """Judge what is in the place of a state file that a batch loads or writes."""
    for each in find_obstacles(checkpoint):
        if each.entry.startswith(f"{STATE}/") and each.number <= batch:
            return replace(_refuse(each), in_batch=batch)
    return None


def _refuse(obstacle: Obstacle) -> Refuses:
    return Refuses(
        code=RefusalCode.NAME_TAKEN,
        error=obstacle.error,
        because=obstacle.because,
        follows_from=(obstacle.path,),
    )


def _judge_directories(checkpoint: Checkpoint) -> Refuses | Unknown | None:
    """Judge files and links that are in the place of a directory."""
    if checkpoint.is_file:
        return Refuses(
            code=RefusalCode.LOCATION_IS_A_FILE,
            error="FileAlreadyExistsException",
            because="the checkpoint location is a file, not a directory",
            follows_from=(".",),
        )
    if not checkpoint.unlisted:
        return None
    first = checkpoint.unlisted[0]
    return Unknown(
        cause=UnknownCause.NOT_A_DIRECTORY,
        because=f"{first.path}: {first.reason}",
        follows_from=(first.path,),
    )


def _judge_metadata(checkpoint: Checkpoint, does: Behaviour) -> Refuses | Unknown | None:
    if isinstance(checkpoint.metadata, Unparsed):
        error = checkpoint.metadata.spark_says or "com.fasterxml.jackson"
        return judge_unusable(checkpoint.metadata, RefusalCode.METADATA_UNREADABLE, error=error)
    has_logs = bool(checkpoint.offsets or checkpoint.commits)
    if checkpoint.metadata is None and has_logs and does.needs_metadata:
        return Refuses(
            code=RefusalCode.METADATA_MISSING,
            error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
            because="the file metadata is missing, but the logs have entries",
            follows_from=(METADATA,),
        )
    return None


def _without_offsets(checkpoint: Checkpoint, does: Behaviour) -> NextStart:
    commits = tuple(f"{COMMITS}/{batch}" for batch in checkpoint.commits)
    if checkpoint.commits and does.needs_offsets_of_commits:
        return Refuses(
            code=RefusalCode.OFFSET_LOG_EMPTY,
            error="assertion failed",
            because="offsets/ is empty, but commits/ is not",
            follows_from=commits,
        )
    places = (f"{OFFSETS}/", f"{COMMITS}/", f"{STATE}/")
    strays = (*checkpoint.leftovers, *checkpoint.foreign)
    in_the_way = (
        *commits,
        *(path for path in strays if path.startswith(places)),
        *(f"{STATE}/{operator.operator_id}" for operator in checkpoint.state),
    )
    if in_the_way and does.needs_empty_location:
        return Refuses(
            code=RefusalCode.CHECKPOINT_NOT_EMPTY,
            error="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
            because=f"the first batch needs an empty checkpoint, but {in_the_way[0]} exists",
            follows_from=in_the_way,
        )
    return StartsFresh(
        follows_from=(OFFSETS, *commits),
        new_query_id=checkpoint.metadata is None,
        then=_blocked(checkpoint, COMMITS, BatchId(0)),
    )
