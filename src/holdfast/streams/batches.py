"""One micro-batch (G7): what it covers, what each sink decides, what a skip drains."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.checkpoint.layout import STATE
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import HoldfastError
from holdfast.ids import BatchId
from holdfast.ledger.coverage import Coverage, read_coverage
from holdfast.ledger.decide import Refuse, Skip
from holdfast.ledger.row import Attempt, Binding
from holdfast.points import reached
from holdfast.streams.running import is_running, running_offsets, same_offsets

if TYPE_CHECKING:
    from holdfast.sinks.sink import Sink
    from holdfast.storage.read import Reader
    from holdfast.streams.keeper import Keeper

_LOG = logging.getLogger("holdfast")


class BatchRefusedError(HoldfastError):
    """A sink refused a batch; nothing of it was written."""

    code = "BATCH_REFUSED"

    def __init__(self, stream: str, batch_id: int, *, why: str) -> None:
        super().__init__(
            what=f"Batch {batch_id} of {stream} was refused; nothing of it was written.",
            why=why,
            how="Stop every other driver of this stream and start it again; it will say more.",
        )


class StoppedError(HoldfastError):
    """The query was being stopped before its batch was committed."""

    code = "STOPPED"

    def __init__(self, stream: str, rows: int) -> None:
        super().__init__(
            what=f"A batch of {stream} with {rows:,} rows was not committed.",
            why="The query is being stopped, or another driver has taken over.",
            how="Nothing is lost: the next start runs the batch again.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWriter:
    """Writes the batches of one started stream."""

    spark: Any
    stream: str
    generation: int
    binding: Binding
    checkpoint: Reader
    sink: Sink
    keeper: Keeper

    def __call__(self, batch: Any, number: int) -> None:
        """Write one batch: the function that Spark calls."""
        batch_id = BatchId(number)
        with self.keeper.writing():
            try:
                self._write(batch, batch_id)
            except HoldfastError as error:
                # Spark does not bring the error itself back.
                _LOG.error("holdfast: %s %s %s", error.what, error.why, error.how)
                raise

    def _write(self, batch: Any, batch_id: BatchId) -> None:
        attempt = self._attempt(batch_id)  # S1
        reached("S1")
        if self.keeper.is_lost:
            raise BatchRefusedError(self.stream, batch_id, why="The lease is lost.")
        decision = self.sink.write(attempt, batch, before_commit=self._check_running)  # S2 to S6
        if isinstance(decision, Refuse):
            why = f"{self.sink.shown}: {decision.reason.value}."
            raise BatchRefusedError(self.stream, batch_id, why=why)
        if isinstance(decision, Skip):
            self._drain(batch, batch_id)
        self.keeper.last_batch = batch_id
        reached("S7")

    def _check_running(self, rows: int) -> None:
        """Refuse to commit for a query that is being stopped: `stop` does not interrupt a batch."""
        if self.keeper.is_lost or not is_running(self.spark, self.binding.query_id):
            raise StoppedError(self.stream, rows)

    def _attempt(self, batch_id: BatchId) -> Attempt:
        covered = read_coverage(self.checkpoint, batch_id)
        if isinstance(covered, Unparsed):
            why = f"{covered.path}: {covered.reason}."
            raise BatchRefusedError(self.stream, batch_id, why=why)
        assert isinstance(covered, Coverage)
        running = running_offsets(self.spark, self.binding.query_id)
        if running is None or not same_offsets(running, covered.end_offsets):
            # A fenced driver can still write the checkpoint; on S3 its late request replaces ours.
            why = f"offsets/{batch_id} is not what this query has planned: another driver wrote it."
            raise BatchRefusedError(self.stream, batch_id, why=why)
        lease = self.keeper.lease
        return Attempt(
            stream=self.stream,
            sink=self.sink.name,
            generation=self.generation,
            epoch=lease.epoch,
            nonce=lease.token,
            binding=self.binding,
            batch_id=batch_id,
            digest=covered.digest,
            start_offsets=covered.start_offsets,
            end_offsets=covered.end_offsets,
        )

    def _drain(self, batch: Any, batch_id: BatchId) -> None:
        """Run a batch that is there already through to nothing, when the query has state.

        State is written by running the batch: without it the query could never go on.
        """
        has_state = bool(self.checkpoint.list(STATE).directories)
        _LOG.info(
            "holdfast: %s batch %s is in %s already: skipped%s",
            self.stream,
            batch_id,
            self.sink.shown,
            " and drained" if has_state else "",
        )
        if has_state:
            batch.write.format("noop").mode("overwrite").save()
