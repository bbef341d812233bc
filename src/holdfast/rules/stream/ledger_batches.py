"""Which batches the ledger has."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.stream import StreamEvidence
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ledger.coverage import Coverage
from holdfast.rules.commands import (
    REWIND,
    can_rebuild,
    plan_command,
    reset_advice,
    resume_advice,
    without_backup,
)
from holdfast.rules.rule import Finding, proven_batch, stream_rule


@stream_rule("HF603", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.REPLAY)
def sink_behind_checkpoint(case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The sink lacks batches that the checkpoint calls done: it was restored or emptied."""
    committed = evidence.newest_committed
    for sink in evidence.sinks:
        if sink.last_batch is None or (sink.row and sink.row.binding != evidence.binding):
            continue
        if sink.last_batch >= committed:
            continue
        first = sink.last_batch + 1
        yield sink_behind_checkpoint.find(
            what=(
                f"{sink.display_name} holds {evidence.stream} up to batch {sink.last_batch}, but "
                f"commits/{committed} says that batch {committed} is done. Batches {first} to "
                f"{committed} are missing in the sink: it was restored from a backup or failed "
                "over to a copy that lagged behind. Spark would not run them again."
            ),
            how=_how_sink_behind_checkpoint(case, sink.last_batch),
            accepting=f"batches {first} to {committed} stay missing for good",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"commits/{committed}",),
            sink=sink.sink,
        )


def _how_sink_behind_checkpoint(case: Case, held: int) -> str:
    if held < 0:
        return f"Restore a newer backup, or {reset_advice(case)}."
    command = plan_command(case, REWIND, f"--to-batch {held}")
    return (
        f"Restore a newer backup, or rewind the stream to batch {held} with {command}. If the "
        f"checkpoint no longer has batch {held}, {reset_advice(case)}."
    )


@stream_rule("HF604", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.REPEATS, Goal.RESUME)
def sink_ahead_of_checkpoint(case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The sink holds batches that the checkpoint has not planned: an old copy of it."""
    planned = evidence.newest_planned
    for sink in evidence.sinks:
        if sink.last_batch is None or (sink.row and sink.row.binding != evidence.binding):
            continue
        if not sink.last_batch > planned >= 0:
            continue
        yield sink_ahead_of_checkpoint.find(
            what=(
                f"{sink.display_name} already holds batch {sink.last_batch} of {evidence.stream}, "
                f"but the newest entry in {evidence.binding.checkpoint} is batch {planned}. This "
                f"checkpoint is older than the data: Spark would plan batches {planned + 1} to "
                f"{sink.last_batch} again, with other ranges."
            ),
            how=_how_sink_ahead_of_checkpoint(case),
            goal=Goal.RESET if case.is_stateful else None,
            accepting=(
                f"batches {evidence.newest_committed + 1} to {sink.last_batch} stay in the sink, "
                "and Spark reads their data again: those rows are duplicated"
            ),
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"offsets/{planned}",),
            sink=sink.sink,
        )


def _how_sink_ahead_of_checkpoint(case: Case) -> str:
    if can_rebuild(case):
        return resume_advice(case, otherwise="")
    lost = " Without it the state since then is lost." if case.is_stateful else ""
    return f"Restore the newest copy of the checkpoint.{lost} To begin again, {reset_advice(case)}."


@stream_rule("HF605", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESUME)
def batch_content_changed(case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The sink's last batch has the same number as in the checkpoint, and other content."""
    for sink in evidence.sinks:
        if sink.row is None or sink.row.binding != evidence.binding or sink.row.digest is None:
            continue
        if not isinstance(sink.held, Coverage) or sink.held.digest == sink.row.digest:
            continue
        batch = sink.row.last_batch
        yield batch_content_changed.find(
            what=(
                f"{sink.display_name} holds batch {batch} of {evidence.stream} with other content "
                f"than offsets/{batch} describes: the entry or the source's log was changed "
                "after the batch was written. From here Spark would read some rows twice, or "
                "not at all."
            ),
            how=_how_batch_content_changed(case, batch),
            accepting="what the checkpoint says now is taken for what the sink holds",
            accepted_batch=max(batch, evidence.newest_committed),
            follows_from=(f"offsets/{batch}",),
            sink=sink.sink,
        )


def _how_batch_content_changed(case: Case, batch: int) -> str:
    restored = f"Restore offsets/{batch} and sources/ as they were when the batch ran."
    again = resume_advice(case, otherwise="")
    return f"{restored} Without a backup: {again}" if again else f"{restored}{without_backup(case)}"


@stream_rule("HF608", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESET)
def sink_changed_alone(case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The sink was changed, and its ledger was not."""
    for sink in evidence.sinks:
        if sink.row is None or sink.contradicts is None:
            continue
        yield sink_changed_alone.find(
            what=(
                f"The ledger says that {sink.display_name} holds {evidence.stream} up to batch "
                f"{sink.row.last_batch}, but {sink.contradicts}. The table was changed without "
                "its ledger, and Spark would not run those batches again."
            ),
            how=(
                f"Restore table and ledger together. To fill the table again, {reset_advice(case)}."
            ),
            accepting="missing rows stay missing, duplicate rows stay, and the stream goes on",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"batch {sink.row.last_batch} in the ledger",),
            sink=sink.sink,
        )
