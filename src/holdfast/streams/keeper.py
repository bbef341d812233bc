"""Keeps a stream's lease and run while its query runs (G6), and ends both when it has (G8)."""

from __future__ import annotations

import atexit
import logging
import threading
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.points import reached
from holdfast.record.leases import Lease, release, renew
from holdfast.record.runs import FAILED, FINISHED, LOST, Run, write_run

if TYPE_CHECKING:
    from holdfast.sinks.sink import Sink
    from holdfast.storage.write import Writer

_LOG = logging.getLogger("holdfast")
_RENEWALS_PER_TERM = 3
_SECONDS_TO_END = 10
THREAD = "holdfast-lease"


class Keeper:
    """A lease that is renewed by a thread of its own, until the query has ended."""

    def __init__(self, record: Writer, lease: Lease, sinks: tuple[Sink, ...]) -> None:
        """Keep nothing yet."""
        self._record = record
        self._sinks = sinks
        self._lease = lease
        self._run: Run | None = None
        self._busy = threading.Lock()
        self.is_lost = False
        self.last_batch: int | None = None
        """The last batch that reached every sink in this run."""

    @property
    def lease(self) -> Lease:
        """As it was last written."""
        return self._lease

    def writing(self) -> threading.Lock:
        """Return what a batch holds while it is written; the lease is not given up meanwhile."""
        return self._busy

    def keep(self, query: Any, run: Run) -> None:
        """Write the run down, and renew the lease until the query has ended.

        When the lease is lost, the query is stopped.
        """
        self._run = run
        self._write_run()
        thread = threading.Thread(target=self._keep, args=(query,), name=THREAD, daemon=True)
        thread.start()
        # A program often ends with its query: the lease is given up first.
        atexit.register(lambda: thread.join(0 if query.isActive else _SECONDS_TO_END))

    def _keep(self, query: Any) -> None:
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
                _stop(query)
                break
            self._lease = fresh
            self._write_run()
        with self._busy:
            for sink in self._sinks:
                sink.close()
            self._write_run(**self._how_it_ended(query))
            reached("run-ended")
            if not self.is_lost:
                self._give_up()

    def _how_it_ended(self, query: Any) -> dict[str, str]:
        error = _error_of(query)
        ended = LOST if self.is_lost else FAILED if error else FINISHED
        return {
            "ended": ended,
            "ended_at": clock.now().isoformat(timespec="seconds"),
            "error": error,
        }

    def _write_run(self, **changes: Any) -> None:
        """Write down how the run stands; not being able to is said, and stops nothing."""
        assert self._run is not None
        self._run = msgspec.structs.replace(self._run, last_batch=self.last_batch, **changes)
        try:
            write_run(self._record, self._run)
        except HoldfastError as error:
            _LOG.warning("holdfast: the run could not be written down: %s", error.why)

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


def _stop(query: Any) -> None:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        query.stop()
    except (PySparkException, Py4JError) as error:  # not in time; its batch cannot commit any more
        _LOG.warning("holdfast: the query is slow to stop: %s", type(error).__name__)


def _error_of(query: Any) -> str:
    """Return the class of the error that ended a query; empty when none did."""
    from py4j.protocol import Py4JError

    try:
        error = query.exception()
    except Py4JError as gone:  # the JVM is
        return type(gone).__name__
    return "" if error is None else error.getCondition() or type(error).__name__
