"""A lease that the process of the batches renews, while the one of the start only looks on.

Spark can run the function of a query in a process of its own, which lives as long as the query.
That process is then the stream's owner: this one can end, or be killed, and the stream goes on.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.record.epochs import is_taken
from holdfast.record.leases import Lease, read_lease
from holdfast.spark.errors import spark_errors
from holdfast.spark.progress import read_progress
from holdfast.streams.heartbeat import LeaseRenewer
from holdfast.streams.replaced_range import correct_ledgers

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from holdfast.sinks.sink import SinkWriter
    from holdfast.spark.plans import Untold
    from holdfast.spark.port import Port
    from holdfast.storage.write import Writer


def renewer_of(
    port: Port, record: Writer, lease: Lease, *, sinks: tuple[SinkWriter, ...]
) -> LeaseRenewer:
    """Return what keeps the lease of a start, where its batches are written."""
    kind = HandedOver if port.runs_functions_elsewhere else LeaseRenewer
    return kind(record, lease, sinks)


class HandedOver(LeaseRenewer):
    """Renews a lease until the query starts, and then looks whether another driver has it."""

    def hand_over(self) -> None:
        """Renew it once more, and leave it to the process of the batches from now on."""
        self._renew()
        self.is_handed_over = True

    def _renew(self) -> None:
        if not self.is_handed_over:
            super()._renew()
            return
        try:
            self.is_lost = self.is_lost or is_taken(self._record, self._lease.epoch + 1)
        except HoldfastError as error:
            emit(Warned(f"whether the lease is still held is not known: {error.why}"))

    def _end_run(self, query: StreamingQuery) -> None:
        """Say what Spark tells of the last batch: what was written is known where it was."""
        fails = (*spark_errors(), KeyError, TypeError, AttributeError, ValueError, HoldfastError)
        with suppress(*fails):  # the process of the batches has compared the last one, or tried to
            progress = query.lastProgress
            told = None if progress is None else read_progress(progress.json)
            self.last_batch = None if told is None else told.last_batch
            if told is not None and not self.is_lost:
                self._look_at_the_end(told)
        super()._end_run(query)

    def _look_at_the_end(self, told: Untold) -> None:
        """Compare the last batch with what Spark has read: no other batch follows that would."""
        assert self._run is not None
        with ExitStack() as opened:
            for ledger in (sink.ledger for sink in self._sinks if sink.ledger is not None):
                opened.callback(ledger.close)
            correct_ledgers(
                self._sinks,
                told,
                stream=self._stream,
                lease=self._lease,
                first_batch=self._run.first_batch,
            )

    def _give_up(self) -> None:
        """Release the lease as its last owner has written it, unless another driver has it."""
        if self.is_handed_over:
            self._renew()
            if self.is_lost:
                return
            try:
                found = read_lease(self._record, self._lease.epoch)
            except HoldfastError as error:
                emit(Warned(f"the lease could not be given up: {error.why}"))
                return
            if found is None or found.token != self._lease.token:
                return
            self._lease = found
        super()._give_up()
