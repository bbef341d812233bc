"""Whether the log entries that Spark reads at every start stop it.

From Spark 4.2 `runtime/MicroBatchExecution.scala` (populateStartOffsets): the newest offset entry,
the one before it and the newest commit entry must be there and readable. Their sources and pinned
settings must agree.
"""

from __future__ import annotations

from holdfast.checkpoint.layout import COMMITS, OFFSETS
from holdfast.checkpoint.offsets import PARTITIONS, OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.outcomes import Refuses, Unknown, UnknownCause
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.ids import BatchId
from holdfast.spark_versions import Behaviour

NO_SETTINGS = "WatermarkTracker"
"""In the error when the settings of a batch are used before they are looked for."""


def judge_needed_entries(checkpoint: Checkpoint, does: Behaviour) -> Refuses | Unknown | None:
    """Say whether an entry that Spark reads at every start stops it; there is an offset entry."""
    newest = max(checkpoint.offsets)
    needed: list[object] = [checkpoint.offsets[newest]]
    if newest > 0:
        before = checkpoint.offsets.get(BatchId(newest - 1))
        if before is None and newest - 1 not in checkpoint.commits and len(checkpoint.offsets) > 1:
            because = (
                f"{OFFSETS}/{newest - 1} and {COMMITS}/{newest - 1} are missing, as async progress "
                "tracking leaves the logs. With it the query continues; without it Spark refuses "
                f"to start (batch {newest - 1} doesn't exist)"
            )
            return Unknown(
                cause=UnknownCause.ASYNC_PROGRESS,
                because=because,
                follows_from=(f"{OFFSETS}/{newest}",),
            )
        if before is None:
            return Refuses(
                code=RefusalCode.PREVIOUS_OFFSET_ENTRY_MISSING,
                error=f"batch {newest - 1} doesn't exist",
                because=f"{OFFSETS}/{newest - 1} is missing, and Spark reads it at every start",
                follows_from=(f"{OFFSETS}/{newest}",),
            )
        needed.append(before)
    if checkpoint.commits:
        needed.append(checkpoint.commits[max(checkpoint.commits)])
    for entry in needed:
        if isinstance(entry, Unparsed):
            error = entry.spark_says or "STREAM_FAILED"
            return judge_unusable(entry, RefusalCode.ENTRY_UNREADABLE, error=error)
    return _judge_lines(checkpoint, newest) or _judge_pinned(checkpoint, newest, does)


def _judge_lines(checkpoint: Checkpoint, newest: BatchId) -> Refuses | None:
    """Judge the number of sources, which never changes in the life of a positional log."""
    entry, before = checkpoint.offsets[newest], checkpoint.offsets.get(BatchId(newest - 1))
    if not isinstance(entry, OffsetEntry) or entry.version != 1:
        return None
    there = len(entry.offsets)
    expected = len(before.offsets) if isinstance(before, OffsetEntry) else max(there, 1)
    if there == expected:
        return None
    count = f"{there} source{'' if there == 1 else 's'}"
    return Refuses(
        code=RefusalCode.ENTRY_WITH_OTHER_SOURCES,
        error=f"There are [{there}] sources in the checkpoint offsets",
        because=f"{OFFSETS}/{newest} lists {count} instead of {expected}",
        follows_from=(f"{OFFSETS}/{newest}",),
    )


def _judge_pinned(
    checkpoint: Checkpoint, newest: BatchId, does: Behaviour
) -> Refuses | Unknown | None:
    """Judge the second line of the newest entries: settings, and that there are any."""
    entry, before = checkpoint.offsets[newest], checkpoint.offsets.get(BatchId(newest - 1))
    committed = max(checkpoint.commits, default=None)
    path = f"{OFFSETS}/{newest}"
    if not isinstance(entry, OffsetEntry):
        return None
    if entry.metadata is None:
        return _without_settings(checkpoint, entry, does)
    if committed is None or committed >= newest or not isinstance(before, OffsetEntry):
        return None
    pinned = [
        each.metadata.conf.get(PARTITIONS) if each.metadata else None for each in (entry, before)
    ]
    if None in pinned and does.needs_partitions:
        because = f"{path} or the entry before it does not record {PARTITIONS}"
        return Refuses(
            code=RefusalCode.PARTITIONS_NOT_PINNED,
            error="None.get",
            because=because,
            follows_from=(path,),
        )
    if None not in pinned and pinned[0] != pinned[1] and does.compares_partitions:
        because = f"{path} records {pinned[0]} shuffle partitions, the entry before it {pinned[1]}"
        return Refuses(
            code=RefusalCode.REPARTITION_NOT_FINISHED,
            error="STREAMING_UNFINISHED_REPARTITION_DETECTED",
            because=because,
            follows_from=(path,),
        )
    return None


def lacks_settings(checkpoint: Checkpoint, batch: BatchId) -> bool:
    """Return whether the entry of a batch is there and its second line, the settings, is empty."""
    entry = checkpoint.offsets.get(batch)
    return isinstance(entry, OffsetEntry) and entry.metadata is None


def _without_settings(
    checkpoint: Checkpoint, entry: OffsetEntry, does: Behaviour
) -> Refuses | Unknown | None:
    path = f"{OFFSETS}/{entry.batch_id}"
    committed = max(checkpoint.commits, default=-1)
    others = [each for each in checkpoint.offsets.values() if isinstance(each, OffsetEntry)]
    if all(each.metadata is None for each in others):
        because = (
            "the checkpoint was written by continuous processing. With a continuous trigger the "
            f"query continues after epoch {committed}; with micro-batches Spark refuses to start"
        )
        return Unknown(cause=UnknownCause.CONTINUOUS, because=because, follows_from=(path,))
    is_pending = entry.batch_id > committed
    if is_pending and not does.needs_settings:
        return None
    return Refuses(
        code=RefusalCode.ENTRY_WITHOUT_SETTINGS,
        error=f"Batch {entry.batch_id} metadata not found" if is_pending else NO_SETTINGS,
        because=f"the second line of {path}, which holds the settings, is empty",
        follows_from=(path,),
    )


def judge_unusable(entry: Unparsed, code: RefusalCode, *, error: str) -> Refuses | Unknown:
    """Say what follows from a file that Spark needs and that was not understood."""
    because = f"{entry.path}: {entry.reason}"
    if entry.unread:
        return Unknown(cause=UnknownCause.UNREAD, because=because, follows_from=(entry.path,))
    return Refuses(code=code, error=error, because=because, follows_from=(entry.path,))
