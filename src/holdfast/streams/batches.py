"""One micro-batch (G7): what it covers, what each sink decides, what a skip drains."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from holdfast import clock
from holdfast.checkpoint.layout import STATE
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.batches import (
    BatchPlanned,
    BatchRefused,
    BatchReturned,
    BatchSkipped,
    BatchWritten,
    SinkWritten,
    fields_of,
)
from holdfast.ids import BatchId
from holdfast.ledger.coverage import Coverage, read_coverage, same_offsets
from holdfast.ledger.decide import Refuse, Skip
from holdfast.ledger.row import Attempt, Binding
from holdfast.record.input_files import InputFile, keep_input_files
from holdfast.spark.plans import Untold
from holdfast.spark.port import RunningQuery
from holdfast.streams.heartbeat import LeaseRenewer
from holdfast.streams.query_end import StoppedError
from holdfast.streams.replaced_range import Comparison, RangeReplacedError, correct_ledgers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from holdfast.sinks.sink import SinkWriter
    from holdfast.storage.read import Reader
    from holdfast.streams.fan_out import BatchSpool


class BatchRefusedError(HoldfastError):
    """A sink refused a batch; nothing of it was written."""

    code = "BATCH_REFUSED"

    def __init__(self, stream: str, batch_id: int, *, why: str) -> None:
        super().__init__(
            what=f"Batch {batch_id} of {stream} was refused; nothing of it was written.",
            why=why,
            how="Stop every other driver of this stream and start it again; it will say more.",
        )


class BatchWriter(msgspec.Struct, frozen=True, kw_only=True):
    """Writes the batches of one started stream."""

    query: RunningQuery
    stream: str
    generation: int
    binding: Binding
    checkpoint: Reader
    sinks: tuple[SinkWriter, ...]
    spool: BatchSpool
    renewer: LeaseRenewer

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Write one batch: the function that Spark calls."""
        batch_id = BatchId(number)
        with self.renewer.writing():
            try:
                self._write(batch, batch_id)
            except Exception as error:
                # Spark does not bring the error itself back.
                self.renewer.failed = batch_id, error
                if isinstance(error, HoldfastError) and not isinstance(error, StoppedError):
                    told = {"code": error.code, "what": error.what, "why": error.why}
                    emit(BatchRefused(self.stream, batch_id, **told, how=error.how))
                raise

    def _write(self, batch: DataFrame, batch_id: BatchId) -> None:
        began = clock.monotonic()
        attempts = self._attempts(batch_id)  # S1
        emit(BatchPlanned(**fields_of(attempts[0])))
        if not self.renewer.holds():
            raise BatchRefusedError(self.stream, batch_id, why="The lease is lost.")
        if any(sink.ledger is None for sink in self.sinks) and not self.renewer.is_confirmed():
            why = (
                "The lease was not renewed for a whole term: another driver may run the stream, "
                "and a function has no fence that would keep both apart."
            )
            raise BatchRefusedError(self.stream, batch_id, why=why)
        if len(self.sinks) == 1:
            is_run = is_given = self._give(batch, attempts)
        else:
            with self.spool.rows(batch, attempts[0]) as rows:
                is_given = self._give(rows.frame, attempts)
                is_run = is_given and rows.was_run
        if is_given:
            took = clock.monotonic() - began
            emit(BatchWritten(self.stream, batch_id, sinks=self._shown, seconds=took))
        if not is_run:
            self._drain(batch, batch_id, is_given=is_given)
        self.renewer.last_batch = batch_id
        emit(BatchReturned(self.stream, batch_id))

    @property
    def _shown(self) -> str:
        return " and ".join(sink.display_name for sink in self.sinks)

    def _give(self, rows: DataFrame, attempts: list[Attempt]) -> bool:
        """Give a batch to every sink, in the order they were named; False when all held it.

        Raises:
            BatchRefusedError: A sink refuses it; those before it have it.
        """
        decisions = []
        for sink, attempt in zip(self.sinks, attempts, strict=True):
            decision = sink.write(attempt, rows, before_commit=self._check_running)  # S2 to S6
            if isinstance(decision, Refuse):
                why = f"{sink.display_name}: {decision.reason.value}."
                raise BatchRefusedError(self.stream, attempt.batch_id, why=why)
            decisions.append(decision)
            emit(SinkWritten(**fields_of(attempt)))
        return not all(isinstance(decision, Skip) for decision in decisions)

    def _check_running(self, rows: int) -> None:
        """Refuse to commit for a query that is being stopped: `stop` does not interrupt a batch."""
        if not self.renewer.holds() or not self.query.is_active():
            raise StoppedError(self.stream, rows)

    def _attempts(self, batch_id: BatchId) -> list[Attempt]:
        """Return what every sink is asked: the same batch, each under its own name."""
        covered = read_coverage(self.checkpoint, batch_id)
        if isinstance(covered, Unparsed):
            why = f"{covered.path}: {covered.reason}."
            raise BatchRefusedError(self.stream, batch_id, why=why)
        assert isinstance(covered, Coverage)
        running = self.query.end_offsets()
        strange = find_strange(running, covered)
        if strange is not None:
            if isinstance(running, Untold) and self.correct(running) in (
                Comparison.SAME,
                Comparison.CORRECTED,
            ):
                raise RangeReplacedError(self.stream, strange)
            # A fenced driver can still write the checkpoint; on S3 its late request replaces ours.
            why = f"offsets/{strange} is not what this query has planned: another driver wrote it."
            raise BatchRefusedError(self.stream, batch_id, why=why)
        generation, record = self.generation, self.spool.record
        files = {
            source: [InputFile(each.log_offset, each.timestamp_ms, each.path) for each in entries]
            for source, entries in covered.files.items()
        }
        keep_input_files(record, files, generation=generation, batch=batch_id)
        lease = self.renewer.lease
        first = Attempt(
            stream=self.stream,
            sink="",
            generation=self.generation,
            epoch=lease.epoch,
            nonce=lease.token,
            binding=self.binding,
            batch_id=batch_id,
            digest=covered.digest,
            start_offsets=covered.start_offsets,
            end_offsets=covered.end_offsets,
        )
        return [replace(first, sink=sink.name) for sink in self.sinks]

    def correct(self, told: Untold) -> Comparison:
        """Compare the ledgers with what Spark has read of a batch of this run; correct them.

        Raises:
            HoldfastError: A ledger cannot be written.
        """
        return correct_ledgers(
            self.sinks,
            told,
            stream=self.stream,
            lease=self.renewer.lease,
            first_batch=self.spool.first_batch,
        )

    def _drain(self, batch: DataFrame, batch_id: BatchId, *, is_given: bool) -> None:
        """Run a batch that was not run for its rows through to nothing, when the query has state.

        State is written by running the batch: without it the query could never go on.

        Args:
            batch: Its DataFrame.
            batch_id: Its number.
            is_given: Whether a sink got it just now, from rows that an earlier run materialised.
        """
        has_state = bool(self.checkpoint.list(STATE).directories)
        if not is_given:
            drained = " and drained" if has_state else ""
            emit(BatchSkipped(self.stream, batch_id, sinks=self._shown, drained=drained))
        if has_state:
            batch.write.format("noop").mode("overwrite").save()


def find_strange(running: set[str] | Untold | None, covered: Coverage) -> int | None:
    """Return the batch whose offsets are not those that the query has planned; None if none is.

    Where a function is not told what its batch covers, the batch before is compared: what the query
    says it has read must be where this batch begins, and the ledger must have that end too.

    Args:
        running: What the query tells; None when it is being stopped.
        covered: What `offsets/N` says of the batch, and `offsets/N-1` of its beginning.
    """
    if not isinstance(running, Untold):
        is_same = running is not None and same_offsets(running, covered.end_offsets)
        return None if is_same else covered.batch_id
    before = covered.batch_id - 1
    if running.last_batch != before:
        return None  # it is the first of this run
    return None if same_offsets(running.known_ends, covered.start_offsets) else before
