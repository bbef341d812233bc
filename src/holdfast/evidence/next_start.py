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

from dataclasses import replace

from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, STATE
from holdfast.checkpoint.offsets import PARTITIONS, OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.absent_state import judge_absent_state
from holdfast.evidence.needed_sources import find_rereads, judge_sources
from holdfast.evidence.needed_state import judge_needed_state
from holdfast.evidence.outcomes import (
    NextStart,
    Refuses,
    Resumes,
    RunsAgain,
    StartsFresh,
    Unknown,
)
from holdfast.evidence.query import Query, judge_query
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.evidence.state import NOT_LOOKED, Looked
from holdfast.evidence.versions import SparkVersion
from holdfast.ids import BatchId

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
    by_logs = predict_by_logs(checkpoint, spark=spark)
    if not isinstance(by_logs, Resumes | RunsAgain):
        return by_logs
    if query is not None and (refused := judge_query(checkpoint, query, spark=spark)):
        return refused
    stopped = judge_sources(checkpoint) or judge_needed_state(
        checkpoint, by_logs.batch_id, spark=spark, query=query, looked=looked
    )
    if stopped is not None:
        return stopped
    return by_logs if query is not None else judge_absent_state(checkpoint, by_logs)


def predict_by_logs(checkpoint: Checkpoint, *, spark: SparkVersion = NEWEST_SPARK) -> NextStart:
    """Say what the logs alone decide: which batch is run."""
    if checkpoint.unlisted:
        first = checkpoint.unlisted[0]
        return Unknown(because=f"{first.path}: {first.reason}", follows_from=(first.path,))
    stopped = _judge_metadata(checkpoint, spark)
    if stopped is not None:
        return stopped
    if not checkpoint.offsets:
        return _without_offsets(checkpoint, spark)
    newest = max(checkpoint.offsets)
    committed = max(checkpoint.commits, default=None)
    stopped = _judge_needed_entries(checkpoint, spark)
    if stopped is not None:
        return stopped
    files = tuple(
        f"{log}/{batch}"
        for log, batch in ((OFFSETS, newest), (COMMITS, committed))
        if batch is not None
    )
    rereads = find_rereads(checkpoint)
    if committed == newest:
        found = _resume(checkpoint, BatchId(newest + 1), files)
        return replace(found, rereads=rereads) if isinstance(found, Resumes) else found
    last = -1 if committed is None else committed
    return RunsAgain(
        batch_id=newest,
        follows_from=files,
        passed_over=tuple(batch for batch in checkpoint.offsets if last < batch < newest),
        rereads=rereads,
        then=_blocked(checkpoint, COMMITS, newest),
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
    if error is not None:
        sidecar = f"{OFFSETS}/.{batch}.crc"
        because = f"{sidecar} is there without {OFFSETS}/{batch}"
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
        return "CONCURRENT_STREAM_LOG_UPDATE"
    # Misleading: there is no other query, only a forgotten file.
    forgotten = f"{log}/.{batch}.crc" in checkpoint.lone_sidecars
    return "Multiple streaming queries are concurrently using" if forgotten else None


def _judge_metadata(checkpoint: Checkpoint, spark: SparkVersion) -> Refuses | Unknown | None:
    if isinstance(checkpoint.metadata, Unparsed):
        error = checkpoint.metadata.spark_says or "com.fasterxml.jackson"
        return _unusable(checkpoint.metadata, RefusalCode.METADATA_UNREADABLE, error=error)
    has_logs = bool(checkpoint.offsets or checkpoint.commits)
    if checkpoint.metadata is None and has_logs and spark >= (4, 2):
        return Refuses(
            code=RefusalCode.METADATA_MISSING,
            error="STREAMING_CHECKPOINT_MISSING_METADATA_FILE",
            because="metadata is not there, and there are entries of a query",
            follows_from=(METADATA,),
        )
    return None


def _without_offsets(checkpoint: Checkpoint, spark: SparkVersion) -> NextStart:
    commits = tuple(f"{COMMITS}/{batch}" for batch in checkpoint.commits)
    if checkpoint.commits and spark >= (4, 2):
        return Refuses(
            code=RefusalCode.OFFSET_LOG_EMPTY,
            error="assertion failed",
            because="offsets is empty and commits is not",
            follows_from=commits,
        )
    places = (f"{OFFSETS}/", f"{COMMITS}/", f"{STATE}/")
    strays = (*checkpoint.leftovers, *checkpoint.foreign)
    in_the_way = (
        *commits,
        *(path for path in strays if path.startswith(places)),
        *(f"{STATE}/{operator.operator_id}" for operator in checkpoint.state),
    )
    if in_the_way and spark >= (4, 1):
        return Refuses(
            code=RefusalCode.CHECKPOINT_NOT_EMPTY,
            error="STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY",
            because=f"the first batch wants an empty checkpoint, and {in_the_way[0]} is there",
            follows_from=in_the_way,
        )
    return StartsFresh(follows_from=(OFFSETS,), new_query_id=checkpoint.metadata is None)


def _judge_needed_entries(checkpoint: Checkpoint, spark: SparkVersion) -> Refuses | Unknown | None:
    newest = max(checkpoint.offsets)
    needed: list[object] = [checkpoint.offsets[newest]]
    if newest > 0:
        before = checkpoint.offsets.get(BatchId(newest - 1))
        if before is None and newest - 1 not in checkpoint.commits and len(checkpoint.offsets) > 1:
            because = (
                f"batch {newest - 1} is in neither log, as async progress tracking leaves them: "
                f"started so again it goes on, started otherwise Spark refuses (batch "
                f"{newest - 1} doesn't exist)"
            )
            return Unknown(because=because, follows_from=(f"{OFFSETS}/{newest}",))
        if before is None:
            return Refuses(
                code=RefusalCode.PREVIOUS_OFFSET_ENTRY_MISSING,
                error=f"batch {newest - 1} doesn't exist",
                because=f"{OFFSETS}/{newest - 1} is not there, and Spark reads it before {newest}",
                follows_from=(f"{OFFSETS}/{newest}",),
            )
        needed.append(before)
    if checkpoint.commits:
        needed.append(checkpoint.commits[max(checkpoint.commits)])
    for entry in needed:
        if isinstance(entry, Unparsed):
            error = entry.spark_says or "STREAM_FAILED"
            return _unusable(entry, RefusalCode.ENTRY_UNREADABLE, error=error)
    return _judge_lines(checkpoint, newest) or _judge_pinned(checkpoint, newest, spark)


def _judge_lines(checkpoint: Checkpoint, newest: BatchId) -> Refuses | None:
    """Judge the number of sources, which never changes in the life of a positional log."""
    entry, before = checkpoint.offsets[newest], checkpoint.offsets.get(BatchId(newest - 1))
    if not isinstance(entry, OffsetEntry) or entry.version != 1:
        return None
    there = len(entry.offsets)
    expected = len(before.offsets) if isinstance(before, OffsetEntry) else max(there, 1)
    if there == expected:
        return None
    return Refuses(
        code=RefusalCode.ENTRY_WITH_OTHER_SOURCES,
        error=f"There are [{there}] sources in the checkpoint offsets",
        because=f"{OFFSETS}/{newest} has {there} lines of sources instead of {expected}",
        follows_from=(f"{OFFSETS}/{newest}",),
    )


def _judge_pinned(
    checkpoint: Checkpoint, newest: BatchId, spark: SparkVersion
) -> Refuses | Unknown | None:
    """Judge the second line of the newest entries: settings, and that there are any."""
    entry, before = checkpoint.offsets[newest], checkpoint.offsets.get(BatchId(newest - 1))
    committed = max(checkpoint.commits, default=None)
    path = f"{OFFSETS}/{newest}"
    if not isinstance(entry, OffsetEntry):
        return None
    if entry.metadata is None:
        return _without_settings(checkpoint, entry, spark)
    if committed is None or committed >= newest or not isinstance(before, OffsetEntry):
        return None
    pinned = [
        each.metadata.conf.get(PARTITIONS) if each.metadata else None for each in (entry, before)
    ]
    if None in pinned and spark == (4, 2):
        because = f"{path} or the entry before it does not pin {PARTITIONS}"
        return Refuses(
            code=RefusalCode.PARTITIONS_NOT_PINNED,
            error="None.get",
            because=because,
            follows_from=(path,),
        )
    if None not in pinned and pinned[0] != pinned[1] and spark >= (4, 2):
        because = f"{path} pins {pinned[0]} partitions, the entry before it {pinned[1]}"
        return Refuses(
            code=RefusalCode.REPARTITION_NOT_FINISHED,
            error="STREAMING_UNFINISHED_REPARTITION_DETECTED",
            because=because,
            follows_from=(path,),
        )
    return None


def _without_settings(
    checkpoint: Checkpoint, entry: OffsetEntry, spark: SparkVersion
) -> Refuses | Unknown:
    path = f"{OFFSETS}/{entry.batch_id}"
    committed = max(checkpoint.commits, default=-1)
    others = [each for each in checkpoint.offsets.values() if isinstance(each, OffsetEntry)]
    if all(each.metadata is None for each in others):
        because = (
            "it was written by continuous processing: started so again it goes on after epoch "
            f"{committed}, started in micro-batches Spark refuses"
        )
        return Unknown(because=because, follows_from=(path,))
    is_new_check = spark >= (4, 2) and entry.batch_id > committed
    return Refuses(
        code=RefusalCode.ENTRY_WITHOUT_SETTINGS,
        error=f"Batch {entry.batch_id} metadata not found" if is_new_check else "WatermarkTracker",
        because=f"the second line of {path} is empty",
        follows_from=(path,),
    )


def _unusable(entry: Unparsed, code: RefusalCode, *, error: str) -> Refuses | Unknown:
    because = f"{entry.path}: {entry.reason}"
    if entry.unread:
        return Unknown(because=because, follows_from=(entry.path,))
    return Refuses(code=code, error=error, because=because, follows_from=(entry.path,))
