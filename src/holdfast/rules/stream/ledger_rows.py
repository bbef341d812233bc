"""Whose ledger row it is."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ledger.row import Binding
from holdfast.rules.commands import NEW_TABLE, can_rebuild, reset_advice, resume_advice
from holdfast.rules.rule import Finding, proven_batch, stream_rule


@stream_rule("HF601", Severity.DATA_AT_RISK, Confidence.UNKNOWN, Effect.REPEATS, Goal.RESET)
def ledger_row_missing(case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The sink has no ledger row, and the checkpoint or the history has batches."""
    for sink in evidence.sinks:
        is_own = not sink.forgotten_epoch and not sink.owners
        is_new = (sink.is_added or evidence.is_seeded) and is_own
        is_explained = evidence.is_adopting or is_new or sink.unreadable is not None
        has_batches = evidence.newest_planned >= 0 or sink.forgotten_epoch > 0
        if sink.row is not None or not has_batches or is_explained:
            continue
        yield ledger_row_missing.find(
            what=_what(evidence, sink),
            how=f"Start {evidence.stream} with a table of its own."
            if sink.owners
            else "If the table or the database is not that of before, start with that of before. "
            f"Else restore the row from a backup of the ledger, or {reset_advice(case)}.",
            accepting=f"the sink is assumed to hold batches up to {evidence.newest_committed}",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(_read_from(evidence, sink),),
            sink=sink.sink,
        )


def _read_from(evidence: StreamEvidence, sink: SinkEvidence) -> str:
    return f"offsets/{evidence.newest_planned}" if evidence.newest_planned >= 0 else sink.sink


def _what(evidence: StreamEvidence, sink: SinkEvidence) -> str:
    if sink.owners:
        return (
            f"{evidence.stream} is a clone, and {sink.display_name} is the table of "
            f"{', '.join(sink.owners)}: the rows of both would be in it twice."
        )
    if evidence.newest_planned < 0:
        return (
            f"{sink.display_name} has no ledger row for {evidence.stream}, but its history has "
            "batches "
            f"up to epoch {sink.forgotten_epoch}. What the sink holds is unknown: the row was "
            "deleted, and the checkpoint with it."
        )
    return (
        f"{sink.display_name} has no ledger row for {evidence.stream}, but the checkpoint has "
        f"batches up to {evidence.newest_planned}. Which of them the sink holds is "
        "unknown: the row was deleted, or the sink is another one."
    )


@stream_rule("HF602", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.REPEATS, Goal.RESUME)
def ledger_of_another_checkpoint(_case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The sink's ledger row belongs to another checkpoint: a clone, a move, a second stream."""
    mine = evidence.binding
    for sink in evidence.sinks:
        if sink.row is None or sink.row.binding == mine:
            continue
        yield ledger_of_another_checkpoint.find(
            what=(
                f"{sink.display_name} holds batch {sink.row.last_batch} of {evidence.stream} from "
                f"{_describe(evidence, sink.row.binding)}. Two checkpoints that write as one "
                "stream duplicate or skip each other's batches."
            ),
            how="Start from the checkpoint the sink belongs to, with the root of before, or give "
            "this stream its own name.",
            accepting="the sink belongs to this checkpoint from now on, and the other is fenced",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=("metadata",),
            sink=sink.sink,
        )


def _describe(evidence: StreamEvidence, theirs: Binding) -> str:
    """Say whose row it is, and whose it would have to be.

    A new stream has no query id before it is written down: named, it would be another at every
    start, and with it the nonce.
    """
    mine = evidence.binding
    if theirs.query_id == mine.query_id:
        return f"a copy of this checkpoint at {theirs.checkpoint}, not from {mine.checkpoint}"
    query = f"query {mine.query_id}" if evidence.newest_planned >= 0 else "this new query"
    if theirs.checkpoint == mine.checkpoint:
        return f"query {theirs.query_id}, which had this checkpoint before, not from {query}"
    return f"query {theirs.query_id} at {theirs.checkpoint}, not from {query} at {mine.checkpoint}"


_ACCEPTING = (
    "Spark begins with batch 0 where the source's options say: rows that it reads again are "
    "duplicated, rows before that position are skipped"
)


@stream_rule("HF606", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.REPEATS, Goal.RESUME)
def checkpoint_gone(case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The sink holds batches of the stream, and its checkpoint is empty: it was deleted."""
    held = (sink.row.last_batch for sink in evidence.sinks if sink.row is not None)
    is_empty = evidence.newest_planned < 0
    if is_empty and evidence.generation.first_batch > 0 and max(held, default=-1) < 0:
        yield from (_find_position_gone(case, evidence, sink.sink) for sink in evidence.sinks)
    for sink in evidence.sinks:
        if sink.row is None or sink.row.last_batch < 0 or evidence.newest_planned >= 0:
            continue
        yield checkpoint_gone.find(
            what=(
                f"{sink.display_name} holds {evidence.stream} up to batch {sink.row.last_batch}, "
                "but its "
                f"checkpoint {evidence.binding.checkpoint} has no entries: it was deleted, or "
                "the stream was started with another root before. "
                "Spark would begin with batch 0 where the source's options say: it would "
                "duplicate what the sink holds, or skip what came since."
            ),
            how=_how_checkpoint_gone(case),
            goal=Goal.RESET if case.is_stateful else None,
            accepting=_ACCEPTING,
            accepted_batch=proven_batch(evidence, sink),
            follows_from=("offsets",),
            sink=sink.sink,
        )


def _find_position_gone(case: Case, evidence: StreamEvidence, sink: str) -> Finding:
    generation, place = evidence.generation, evidence.binding.checkpoint
    return checkpoint_gone.find(
        what=(
            f"Generation {generation.number} of {evidence.stream} begins with batch "
            f"{generation.first_batch}: its position is in the checkpoint {place}, which has no "
            "entries. It was deleted. "
            "Spark would begin where the source's options say: it would read again what was not "
            "asked for, or skip what came since."
        ),
        how=f"Restore the checkpoint. To begin again, {reset_advice(case, output=NEW_TABLE)}.",
        goal=Goal.RESET,
        accepting=_ACCEPTING,
        follows_from=("offsets",),
        sink=sink,
    )


def _how_checkpoint_gone(case: Case) -> str:
    root = "If the stream had another root before, start it with that."
    if can_rebuild(case):
        return f"{root} Otherwise: {resume_advice(case, otherwise='')}"
    lost = " Without it the state is lost: open windows, running totals and seen keys."
    return (
        f"{root} Otherwise restore the checkpoint.{lost if case.is_stateful else ''} To begin "
        f"again, {reset_advice(case)}."
    )


@stream_rule("HF607", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.REPEATS, Goal.RESET)
def other_generation(case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The sink's ledger row is of another generation than the record's current one."""
    current = evidence.generation.number
    for sink in evidence.sinks:
        if sink.row is None or sink.row.generation == current:
            continue
        yield other_generation.find(
            what=(
                f"{sink.display_name} belongs to generation {sink.row.generation} of "
                f"{evidence.stream}, "
                f"but the record says {current}: the sink was restored from before a reset, or a "
                "reset was not finished."
            ),
            how=_how_other_generation(case, sink.row.generation),
            accepting="the sink is assumed to hold what this generation has committed",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"generations/{current:04d}.json",),
            sink=sink.sink,
        )


def _how_other_generation(case: Case, theirs: int) -> str:
    assert case.stream is not None
    if theirs > case.stream.generation.number:
        return "Restore the record of the stream from after the reset, or the sink from before it."
    return f"Restore a backup of the sink from after the reset, or {reset_advice(case)}."


@stream_rule("HF609", Severity.DATA_AT_RISK, Confidence.UNKNOWN, Effect.NONE, Goal.RESUME)
def ledger_unreadable(_case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The ledger of a sink cannot be read, so that what the sink holds is unknown."""
    committed = evidence.newest_committed
    for sink in evidence.sinks:
        if sink.unreadable is None:
            continue
        yield ledger_unreadable.find(
            what=(
                f"The ledger of {sink.display_name} cannot be read: "
                f"{sink.unreadable.why.rstrip('.')}. "
                f"What the sink holds of {evidence.stream} is unknown."
            ),
            how=f"Make {sink.display_name} readable for this driver, and start again.",
            accepting=(
                f"if there is no ledger row, the sink is assumed to hold batches up to {committed};"
                " if there is one, the start is refused when it takes the fence"
            ),
            accepted_batch=committed,
            follows_from=(sink.sink,),
            sink=sink.sink,
        )
