"""Settings that are pinned in the checkpoint, or that it depends on."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import PARTITIONS
from holdfast.evidence.case import Case
from holdfast.evidence.state import ROCKSDB, provider_of
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import refusal
from holdfast.rules.rule import Finding, rule


@refusal("HF501", Goal.RESUME)
def partitions_not_pinned(_case: Case) -> str:
    """A pending batch does not record its shuffle partitions."""
    return "Start with Spark 4.2.1, or restore the entry."


@refusal("HF502", Goal.RESUME)
def repartition_not_finished(_case: Case) -> str:
    """A repartitioning of the state was not finished."""
    return "Finish the repartitioning with the same number, or restore the entry."


_FEW = 10


@rule("HF503", Severity.NOTE, Confidence.LIKELY, Effect.NONE, Goal.NONE)
def few_batches_kept(case: Case) -> Iterator[Finding]:
    """Few batches are kept: the query can hardly be taken back."""
    offsets = case.checkpoint.offsets
    is_partly_read = case.checkpoint.first_read is not None
    if case.overview is None or is_partly_read or not offsets or min(offsets) == 0:
        return
    if len(offsets) >= _FEW:
        return
    yield few_batches_kept.find(
        what=(
            f"The query can be taken back to {len(offsets) - 1} batches at most, because "
            f"spark.sql.streaming.minBatchesToRetain is about {max(len(offsets) - 1, 1)}."
        ),
        how="Raise spark.sql.streaming.minBatchesToRetain, whose default is 100.",
        follows_from=(f"offsets/{min(offsets)}", f"offsets/{max(offsets)}"),
    )


@rule("HF504", Severity.RISK, Confidence.LIKELY, Effect.FAILS, Goal.RESUME)
def one_batch_kept_of_rocksdb(case: Case) -> Iterator[Finding]:
    """One batch is kept of RocksDB state: a failed batch can make a restart impossible."""
    offsets = case.checkpoint.offsets
    is_partly_read = case.checkpoint.first_read is not None
    if case.overview is None or is_partly_read or not offsets:
        return
    rocksdb = [each for each in case.checkpoint.state if provider_of(each) == ROCKSDB]
    if not rocksdb or min(offsets) == 0 or len(offsets) > 2:
        return
    yield one_batch_kept_of_rocksdb.find(
        what=(
            f"Spark keeps {len(offsets)} batches (minBatchesToRetain is 1) of RocksDB state. A "
            "retried batch or a second driver can delete what the next start needs."
        ),
        how="Set spark.sql.streaming.minBatchesToRetain to 10 or more.",
        follows_from=(f"offsets/{min(offsets)}", f"state/{rocksdb[0].operator_id}"),
    )


@rule("HF505", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def partitions_pinned(case: Case) -> Iterator[Finding]:
    """The number of state partitions cannot be changed by a setting."""
    entry = case.checkpoint.newest_readable
    if case.overview is None or entry is None or entry.metadata is None:
        return
    pinned = entry.metadata.conf.get(PARTITIONS)
    if pinned is None or not case.checkpoint.state:
        return
    yield partitions_pinned.find(
        what=f"Spark will use {pinned} shuffle partitions for state, whatever the session says.",
        how="To change it, repartition the state or reset the stream.",
        follows_from=(f"offsets/{entry.batch_id}",),
    )
