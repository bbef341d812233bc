"""G7 of the data source: one batch, staged by its tasks, is committed or skipped as a whole.

Spark gives the answers of the tasks that it has counted, one per partition. It calls `commit` in a
process that nothing keeps from living on when the JVM is gone; and it calls `abort` with the same
answers when `commit` has raised, also after the server has committed. So nothing here is concluded
from being called: the ledger row tells what has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.checkpoint.unparsed import Unparsed
from holdfast.datasource.answer import Answer, Claim
from holdfast.datasource.claim import claim, is_restarted, write_down_run
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.batches import (
    BatchPlanned,
    BatchReturned,
    BatchSkipped,
    SinkWritten,
    fields_of,
)
from holdfast.events.event import Warned
from holdfast.ids import BatchId
from holdfast.ledger.coverage import read_coverage
from holdfast.ledger.decide import Refuse, Skip
from holdfast.ledger.row import Attempt, LedgerRow
from holdfast.record.input_files import InputFile, keep_input_files
from holdfast.record.layout import record_location, run_path
from holdfast.record.leases import read_lease
from holdfast.record.owner import is_certainly_dead
from holdfast.sinks.parts import PartsWriter, reopen_parts
from holdfast.sinks.session import place_of, writer_of
from holdfast.spark.arrow import arrow_schema_of
from holdfast.streams.batches import BatchRefusedError
from holdfast.streams.query_end import StoppedError

if TYPE_CHECKING:
    from pyspark.sql.datasource import WriterCommitMessage
    from pyspark.sql.types import StructType

    from holdfast.datasource.options import Asked
    from holdfast.storage.write import Writer

    Messages = Sequence[WriterCommitMessage | None]


def commit(asked: Asked, schema: StructType, messages: Messages, *, batch: int) -> None:
    """Commit a batch, unless the ledger has it (S1 to S7).

    Args:
        asked: What the options say.
        schema: Of the rows.
        messages: The answers of the tasks.
        batch: Spark's number.

    Raises:
        BatchRefusedError: It must not be written; nothing of it was.
        HoldfastError: It could not be written.
    """
    answers = _checked(asked, messages, batch)
    first = answers[0]
    record = writer_of(None, record_location(place_of(None, asked.root), asked.stream))
    with reopen_parts(asked.sink, first.claim.stage) as sink:
        claimed = _begin_run(asked, schema, first, record=record, sink=sink)
        attempt = _attempt(asked, claimed, batch, sink=sink.name, record=record)
        emit(BatchPlanned(**fields_of(attempt)))
        watch = _Watch(record, claimed, asked.stream)
        parts = tuple(answer.part for answer in answers)
        decision = sink.write_parts(attempt, parts, before_commit=watch)  # S2 to S6
        if isinstance(decision, Refuse):
            why = f"{sink.display_name}: {decision.reason.value}."
            raise BatchRefusedError(asked.stream, batch, why=why)
        if isinstance(decision, Skip):
            emit(BatchSkipped(asked.stream, batch, sinks=sink.display_name, drained=""))
        emit(SinkWritten(**fields_of(attempt)))
        _drop(sink, asked.stream, answers, claimed=claimed, batch=batch)
        emit(BatchReturned(asked.stream, batch))  # S7


def abort(asked: Asked, messages: Messages, batch: int) -> None:
    """Drop what the tasks of a batch have staged, and say what the ledger knows of it.

    Whatever cannot be dropped here is dropped by the next start.
    """
    answers = [each for each in messages if isinstance(each, Answer)]
    if not answers:
        return
    try:
        with reopen_parts(asked.sink, answers[0].claim.stage) as sink:
            row = sink.ledger.read(asked.stream)
            if isinstance(row, LedgerRow) and row.last_batch >= batch:
                said = f"batch {batch} of {asked.stream} is in {sink.display_name}, although Spark "
                emit(Warned(f"{said}was told otherwise; the next start skips it"))
            sink.drop_stages(each.part.table for each in answers if each.part.table)
    except HoldfastError as error:
        emit(Warned(f"what batch {batch} of {asked.stream} staged was not dropped: {error.why}"))


def _checked(asked: Asked, messages: Messages, batch: int) -> list[Answer]:
    """Return the answers, once they are all of this batch and of one start.

    Raises:
        BatchRefusedError: One is missing, or of another batch.
    """
    answers = [each for each in messages if isinstance(each, Answer)]
    if not answers or len(answers) < len(messages):
        why = f"{len(messages) - len(answers)} of its {len(messages)} tasks have no answer."
        raise BatchRefusedError(asked.stream, batch, why=why)
    starts = {(each.claim.token, each.run_id, each.query_id, each.batch) for each in answers}
    first = answers[0]
    if len(starts) > 1 or first.batch != batch or first.query_id != first.claim.binding.query_id:
        why = "Its tasks belong to other batches or queries than the one that is committed."
        raise BatchRefusedError(asked.stream, batch, why=why)
    return answers


def _begin_run(
    asked: Asked, schema: StructType, first: Answer, *, record: Writer, sink: PartsWriter
) -> Claim:
    """Return the right to write of this run; written down with its first batch (G6).

    A query that was stopped and started again in one JVM finds the lease of before: it is guarded
    here then, as any other start.
    """
    claimed = first.claim
    if record.stat(run_path(claimed.epoch, first.run_id)) is not None:
        return claimed
    if is_restarted(record, claimed, first.run_id):
        claimed = claim(asked, arrow_schema_of(schema), is_new=True)
    write_down_run(record, claimed, first.run_id, batch=first.batch, sink=sink)
    return claimed


def _attempt(asked: Asked, claimed: Claim, batch: int, *, sink: str, record: Writer) -> Attempt:
    covered = read_coverage(writer_of(None, asked.checkpoint), BatchId(batch))  # S1
    if isinstance(covered, Unparsed):
        raise BatchRefusedError(asked.stream, batch, why=f"{covered.path}: {covered.reason}.")
    files = {
        source: [InputFile(each.log_offset, each.timestamp_ms, each.path) for each in entries]
        for source, entries in covered.files.items()
    }
    keep_input_files(record, files, generation=claimed.generation, batch=batch)
    return Attempt(
        stream=asked.stream,
        sink=sink,
        generation=claimed.generation,
        epoch=claimed.epoch,
        nonce=claimed.token,
        binding=claimed.binding,
        batch_id=BatchId(batch),
        digest=covered.digest,
        start_offsets=covered.start_offsets,
        end_offsets=covered.end_offsets,
    )


class _Watch:
    """Refuses to commit for a JVM that is gone: its process for commits can live on."""

    def __init__(self, record: Writer, claimed: Claim, stream: str) -> None:
        lease = read_lease(record, claimed.epoch)
        self._owner = None if lease is None else lease.owner
        self._stream = stream

    def __call__(self, rows: int) -> None:
        if self._owner is not None and is_certainly_dead(self._owner):
            raise StoppedError(self._stream, rows)


def _drop(
    sink: PartsWriter, stream: str, answers: Sequence[Answer], *, claimed: Claim, batch: int
) -> None:
    """Drop what was staged for a batch that has arrived, also by attempts that do not count."""
    staged = [each.part.table for each in answers if each.part.table]
    if not staged:
        return
    try:
        sink.drop_stages(staged)
        sink.drop_dead(stream, epoch=claimed.epoch, batch=batch)
    except HoldfastError as error:
        emit(Warned(f"what batch {batch} of {stream} staged was not dropped: {error.why}"))
