"""The entries of a query with state, written again while its state is still there.

A ledger row says where a batch ended, and no ledger has state. Where only the entry of a committed
batch is lost, the state that it has written is there, and the commit says which version counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from holdfast import clock
from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.offsets import OffsetMetadata
from holdfast.evidence.collect import collect
from holdfast.evidence.outcomes import Refuses, Resumes
from holdfast.evidence.overview import overview_of
from holdfast.ids import BatchId
from holdfast.plan.entries import metadata_like
from holdfast.plan.goals.nearest import go_on_instead
from holdfast.plan.goals.refusals import say_reset
from holdfast.plan.plan_file import NoPlan
from holdfast.plan.steps import PutFile, RemoveFile, Step
from holdfast.plan.world import StreamNow
from holdfast.storage.overlay import OverlayWriter


def metadata_line(now: StreamNow, newest: BatchId, *, is_pending: bool) -> OffsetMetadata | NoPlan:
    """Return the second line of the newest entry; of a query with state its watermark counts.

    Spark drops rows that are late by the watermark of the entry before, and a batch begins with the
    watermark that the commit before it says.

    Args:
        now: The stream, as it is now.
        newest: The newest batch that a sink holds.
        is_pending: Whether another sink does not hold it.
    """
    known = now.case.checkpoint.newest_readable
    line = metadata_like(known, now_ms=int(clock.now().timestamp() * 1000))
    if not now.is_stateful:
        return line
    if not now.case.checkpoint.state:
        return _state_is_lost(now, newest)
    before = now.case.checkpoint.commits.get(BatchId(newest - 1))
    has_commit = isinstance(now.case.checkpoint.commits.get(newest), CommitEntry)
    if known is None or is_pending or not has_commit:
        return _state_is_behind(now, f"batch {newest} has no commit entry that can be read")
    if newest == 0:
        return line
    if not isinstance(before, CommitEntry) or before.next_watermark_ms is None:
        return _state_is_behind(now, f"the watermark of batch {newest} is not known any more")
    return replace(line, batch_watermark_ms=before.next_watermark_ms)


def refuse_without_state(now: StreamNow, steps: Iterable[Step], newest: BatchId) -> NoPlan | None:
    """Refuse a repair after which Spark would not find the state that it needs."""
    overlay = OverlayWriter(now.checkpoint)
    for step in steps:
        if isinstance(step, RemoveFile):
            overlay.delete(step.path)
        elif isinstance(step, PutFile):
            overlay.put(step.path, step.content.encode())
    start = overview_of(collect(overlay, verify=True)).next_start
    if isinstance(start, Resumes) and start.batch_id == newest + 1 and start.unless is None:
        return None
    why = start.because if isinstance(start, Refuses) else "what Spark needs of it is gone"
    return _state_is_behind(now, why)


def _state_is_lost(now: StreamNow, newest: BatchId) -> NoPlan:
    return NoPlan(
        reason=f"{now.stream} keeps state, and the state of batch {newest} is gone with the "
        "checkpoint: no ledger has it. Restore the checkpoint from a backup or a snapshot, or "
        "begin a new generation that computes the state again.",
        nearest=say_reset(now),
    )


def _state_is_behind(now: StreamNow, why: str) -> NoPlan:
    return NoPlan(
        reason=f"{now.stream} keeps state, and its state cannot go on from where the sinks end: "
        f"{why}.",
        nearest=go_on_instead(now),
    )
