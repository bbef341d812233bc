"""Formats of state, and what they give up."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import RunsAgain
from holdfast.evidence.state import ROCKSDB, provider_of
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.entry_figures import batches_text
from holdfast.rules.rule import Finding, rule
from holdfast.spark_versions import version_text


@rule("HF424", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def state_format_1(case: Case) -> Iterator[Finding]:
    """State files have the same names for every driver (state format 1)."""
    stores = [store for operator in case.checkpoint.state for store in operator.stores]
    files = [file for store in stores for file in store.files]
    if case.overview is None or not files or any(file.unique_id for file in files):
        return
    yield state_format_1.find(
        what=(
            "The state has format 1: a driver that is paused, replaced and resumed will overwrite "
            "state files of the new one, and Spark may not start again."
        ),
        how="End a driver before you replace it; for a new checkpoint, consider state format 2.",
        follows_from=tuple(store.directory for store in stores[:1]),
    )


_CORRECTED = (4, 2)


@rule("HF425", Severity.NOTE, Confidence.LIKELY, Effect.FAILS, Goal.NONE)
def rocksdb_known_errors(case: Case) -> Iterator[Finding]:
    """This version of Spark has known errors with RocksDB state."""
    if case.overview is None or case.overview.spark >= _CORRECTED:
        return
    stateful = [each for each in case.checkpoint.state if provider_of(each) == ROCKSDB]
    if not stateful:
        return
    yield rocksdb_known_errors.find(
        what=(
            f"Spark {version_text(case.overview.spark)} has known errors that mix up files of "
            "RocksDB after a task was retried; a later start then fails to load the state."
        ),
        how="Use the newest release of this version, or Spark 4.2.",
        follows_from=tuple(f"state/{each.operator_id}" for each in stateful),
    )


@rule("HF427", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def state_limits_going_back(case: Case) -> Iterator[Finding]:
    """The state allows going back to fewer batches than the logs."""
    if case.overview is None or not case.checkpoint.state or case.checkpoint.state_unread:
        return
    progress = case.overview.progress
    logged = [batch for batch in progress.committed[1:] if batch in case.checkpoint.offsets]
    if len(progress.rewind) >= len(logged):
        return
    can = f"to {batches_text(progress.rewind)}" if progress.rewind else "to no batch"
    yield state_limits_going_back.find(
        what=(
            f"The query can be taken back {can} only: the logs hold {batches_text(logged)}, but "
            "the state of the others is gone. A restart does not need it."
        ),
        how="Nothing needs to be done for a restart.",
        follows_from=("state/",),
    )


@rule("HF430", Severity.NOTE, Confidence.LIKELY, Effect.FAILS, Goal.RESUME)
def skipped_batch_fails_with_format_2(case: Case) -> Iterator[Finding]:
    """With state format 2, a sink that skips the pending batch makes every start fail."""
    start = case.next_start
    if not isinstance(start, RunsAgain) or case.stream is not None or case.record is not None:
        return
    stores = [store for operator in case.checkpoint.state for store in operator.stores]
    if not any(file.unique_id for store in stores for file in store.files):
        return
    yield skipped_batch_fails_with_format_2.find(
        what=(
            f"Every start of Spark will fail if the sink holds batch {start.batch_id} and skips it "
            "without running it, because the state has format 2."
        ),
        how=(
            f"If it fails with `CheckpointInfo length: 0`, run batch {start.batch_id} once with "
            "foreachBatch into a noop sink."
        ),
        follows_from=start.follows_from,
    )
