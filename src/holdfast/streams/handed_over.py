"""A lease that the process of the batches renews, while the one of the start only looks on.

Spark can run the function of a query in a process of its own, which lives as long as the query.
That process is then the stream's owner: this one can end, or be killed, and the stream goes on.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.record.epochs import is_taken
from holdfast.record.leases import Lease, read_lease
from holdfast.spark.errors import spark_errors
from holdfast.streams.heartbeat import LeaseRenewer

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from holdfast.sinks.sink import SinkWriter
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
        with suppress(*spark_errors(), KeyError, TypeError):
            progress = query.lastProgress
            self.last_batch = None if progress is None else int(progress["batchId"])
        super()._end_run(query)

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
