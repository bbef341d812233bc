"""Keeps a lease alive while a query runs (G6), and gives it up when it has ended (G8)."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.points import reached
from holdfast.record.leases import Lease, release, renew

if TYPE_CHECKING:
    from holdfast.sinks.sink import Sink
    from holdfast.storage.write import Writer

_LOG = logging.getLogger("holdfast")
_RENEWALS_PER_TERM = 3


class Keeper:
    """A lease that is renewed by a thread of its own, until the query has ended."""

    def __init__(self, record: Writer, lease: Lease, sink: Sink) -> None:
        """Keep nothing yet."""
        self._record = record
        self._sink = sink
        self._lease = lease
        self._busy = threading.Lock()
        self.is_lost = False

    @property
    def lease(self) -> Lease:
        """As it was last written."""
        return self._lease

    def writing(self) -> threading.Lock:
        """Return what a batch holds while it is written; the lease is not given up meanwhile."""
        return self._busy

    def keep(self, query: Any) -> None:
        """Renew the lease until the query has ended, and stop the query when it is lost."""
        threading.Thread(
            target=self._run, args=(query,), name="holdfast-lease", daemon=True
        ).start()

    def _run(self, query: Any) -> None:
        while not _ended(query, self._lease.term_s / _RENEWALS_PER_TERM):
            try:
                fresh = renew(self._record, self._lease)
            except HoldfastError as error:
                # The store does not answer: the term runs on, and the fence holds meanwhile.
                _LOG.warning("holdfast: the lease could not be renewed: %s", error.why)
                continue
            if fresh is None:
                self.is_lost = True
                _LOG.error("holdfast: another driver has taken over; this query is stopped")
                query.stop()
                break
            self._lease = fresh
        with self._busy:
            self._sink.close()
            if not self.is_lost:
                self._give_up()

    def _give_up(self) -> None:
        try:
            release(self._record, self._lease)
        except HoldfastError as error:
            _LOG.warning("holdfast: the lease could not be given up: %s", error.why)
        reached("G8")


def _ended(query: Any, seconds: float) -> bool:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return bool(query.awaitTermination(seconds))
    except (PySparkException, Py4JError):  # however it failed, it has ended
        return True
