"""State files that are missing, damaged or of another batch."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.state.chain import BrokenChain
from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Resumes, RunsAgain, Unknown, UnknownCause
from holdfast.evidence.state import HDFS, ROCKSDB, provider_of
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command, reset_advice, rewind_advice, without_backup
from holdfast.rules.predicted import refusal
from holdfast.rules.rule import Finding, rule

_HOW_STATE_SCHEMA_UNREADABLE = "Restore the schema file."


@refusal("HF411", Goal.RESUME)
def state_schema_unreadable(case: Case) -> str:
    """A schema of the state is damaged."""
    return _HOW_STATE_SCHEMA_UNREADABLE + without_backup(case)


@refusal("HF412", Goal.RESUME)
def state_schema_elsewhere(case: Case) -> str:
    """The state's schemas are named by absolute paths of another place."""
    back = "Move the checkpoint back to its old location."
    return f"{back} If that is impossible, {reset_advice(case)}."


@refusal("HF413", Goal.RESUME)
def state_blocked_by_checksum(_case: Case) -> str:
    """A checksum without its file blocks a schema or the metadata of the state."""
    return "Restore the file, or move the `.crc` file aside."


_HOW_STATE_MISSING = "Restore `state/` with the age of the logs."


@refusal("HF414", Goal.RESUME)
def state_missing(case: Case) -> str:
    """The query had state, and `state/` is empty."""
    return _HOW_STATE_MISSING + without_backup(case)


_HOW_STATE_OPERATOR_MISSING = "Restore the directory of the operator."


@refusal("HF415", Goal.RESUME)
def state_operator_missing(case: Case) -> str:
    """The directory of a stateful operator is missing."""
    return _HOW_STATE_OPERATOR_MISSING + without_backup(case)


_HOW_STATE_FILES_NOT_NAMED = "Restore the newest commit entry."


@refusal("HF416", Goal.RESUME)
def state_files_not_named(case: Case) -> str:
    """No commit entry says which state files count."""
    return _HOW_STATE_FILES_NOT_NAMED + without_backup(case)


_HOW_STATE_OF_ANOTHER_BATCH = "Restore the commit entries that are missing."


@refusal("HF417", Goal.RESUME)
def state_of_another_batch(case: Case) -> str:
    """The newest commit entry names the state of another batch."""
    return _HOW_STATE_OF_ANOTHER_BATCH + without_backup(case)


_HOW_STATE_FILE_DAMAGED = (
    "Restore the file, or take the query and its sink back to a batch whose state is complete."
)


@refusal("HF418", Goal.RESUME)
def state_file_damaged(case: Case) -> str:
    """A state file that the next batch needs is damaged."""
    return _HOW_STATE_FILE_DAMAGED + rewind_advice(case) + without_backup(case)


_HOW_STATE_FILE_MISSING = (
    "Restore the file, or take the query and its sink back to a batch whose state is complete."
)


@refusal("HF419", Goal.RESUME)
def state_file_missing(case: Case) -> str:
    """A state file that the next batch needs is missing."""
    return _HOW_STATE_FILE_MISSING + rewind_advice(case) + without_backup(case)


@rule("HF423", Severity.RISK, Confidence.LIKELY, Effect.FAILS, Goal.REPLAY)
def state_partly_committed(case: Case) -> Iterator[Finding]:
    """Some partitions did not write the state of a batch that is committed."""
    planned = case.newest_planned
    if case.overview is None or planned < 1 or case.newest_committed != planned:
        return
    for operator in case.overview.state:
        newest = {
            each.store.directory: max((file.version for file in each.store.files), default=0)
            for each in operator.stores
        }
        broken = [
            each.store.directory
            for each in operator.stores
            if isinstance(each.chain, BrokenChain)
            and newest[each.store.directory] == operator.version - 1
        ]
        if not broken or len(broken) == len(newest) or operator.version != planned + 1:
            continue
        yield state_partly_committed.find(
            what=(
                f"Spark will fail in batch {planned + 1}: batch {planned} is committed, but "
                f"{len(broken)} of {len(newest)} stores did not write its state. A foreachBatch "
                "function did not read all of the batch, or the files were deleted."
            ),
            how=(
                f"Let the function read all of its batch, then run batch {planned} again with "
                f"{plan_command(case, Goal.REPLAY)}."
            ),
            follows_from=tuple(broken[:20]),
        )


_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


@rule("HF426", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESUME)
def state_of_another_provider(case: Case) -> Iterator[Finding]:
    """The pinned state provider is not the one that wrote the state."""
    entry = case.checkpoint.newest_readable
    if case.overview is None or entry is None or entry.metadata is None:
        return
    pinned = entry.metadata.conf.get(_PROVIDER, "")
    known = {"RocksDBStateStoreProvider": ROCKSDB, "HDFSBackedStateStoreProvider": HDFS}
    named = known.get(pinned.rpartition(".")[2])
    for operator in case.checkpoint.state if named else ():
        wrote = provider_of(operator)
        if wrote is None or wrote == named:
            continue
        yield state_of_another_provider.find(
            what=(
                f"Spark will start batch {case.newest_committed + 1}, call its sink and fail: "
                f"offsets/{entry.batch_id} names the {named} state store, but the files in "
                f"state/{operator.operator_id} are {wrote}."
            ),
            how="Restore the offset entry with the provider that wrote the state.",
            accepting="Spark decides; it fails as described, at every start",
            follows_from=(f"offsets/{entry.batch_id}", f"state/{operator.operator_id}"),
        )


@rule("HF428", Severity.RISK, Confidence.LIKELY, Effect.FAILS, Goal.RESUME)
def state_absent(case: Case) -> Iterator[Finding]:
    """The query has a watermark and no `state/`: if it keeps state, that is gone."""
    start = case.next_start
    if isinstance(start, Unknown) and start.cause is UnknownCause.STATE_ABSENT:
        yield state_absent.find(
            what=f"{start.because}.",
            how="If the query keeps state, restore `state/` with the age of the logs.",
            follows_from=start.follows_from,
            is_predicted=True,
        )


@rule("HF429", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def no_state_directory(case: Case) -> Iterator[Finding]:
    """There is no `state/`, which is right for a stateless query only."""
    start = case.next_start
    if isinstance(start, Resumes | RunsAgain) and start.unless is not None:
        yield no_state_directory.find(
            what=f"Spark will refuse to start if {start.unless}.",
            how="Nothing needs to be done for a stateless query.",
            follows_from=("state/",),
        )
