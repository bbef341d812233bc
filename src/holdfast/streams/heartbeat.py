"""Keeps a stream's lease and run while its query runs (G6), and ends both when it has (G8)."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.points import reached
from holdfast.record.leases import Lease, release, renew
from holdfast.record.runs import FAILED, FINISHED, LOST, Run, write_run
from holdfast.spark.errors import spark_errors

if TYPE_CHECKING:
    from holdfast.sinks.sink import SinkWriter
    from holdfast.storage.write import Writer

_LOG = logging.getLogger("holdfast")
_RENEWALS_PER_TERM = 3
_SECONDS_TO_END = 10
THREAD = "holdfast-lease"
_RUNNING: dict[str, Any] = {}
"""The queries that this process runs, by the location of their record."""


class AlreadyRunningError(HoldfastError):
    """A query of the stream runs in this process already; it keeps running."""

    code = "ALREADY_RUNNING"

    def __init__(self, stream: str) -> None:
        super().__init__(
            what=f"{stream} was not started a second time; nothing was written.",
            why=f"A query named {stream} is active in this process, and it keeps running.",
            how=f'Stop it first: [q.stop() for q in spark.streams.active if q.name == "{stream}"]',
        )


class Keeper:
    """A lease that is renewed by a thread of its own, until the query has ended."""

    def __init__(self, record: Writer, lease: Lease, sinks: tuple[SinkWriter, ...]) -> None:
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

        Raises:
            WriteError: The run could not be written down; nothing keeps the lease then.
        """
        # Without a run the next start could not tell what this one was: so this one is an error.
        write_run(self._record, run)
        self._run = run
        _RUNNING[str(self._record.location)] = query
        thread = threading.Thread(target=self._keep, args=(query,), name=THREAD, daemon=True)
        thread.start()
        # A program often ends with its query: the lease is given up first.
        atexit.register(lambda: thread.join(0 if _is_active(query) else _SECONDS_TO_END))

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
                stop_query(query)
                break
            self._lease = fresh
        with self._busy:
            _RUNNING.pop(str(self._record.location), None)
            for sink in self._sinks:
                _close(sink)
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
    """Wait for the end of a query; return whether it has come."""
    try:
        return bool(query.awaitTermination(seconds))
    except _no_answer():  # the query's own error, or that of a call that did not get through
        is_active = _is_active(query)
        if is_active:
            time.sleep(1)
        return not is_active


def _no_answer() -> tuple[type[Exception], ...]:
    """Return what a call raises: a JVM that is gone refuses every connection after the first."""
    return *spark_errors(), OSError


def _close(sink: SinkWriter) -> None:
    """Close a sink; whatever it raises, the lease must be released."""
    try:
        sink.close()
    except Exception as error:  # noqa: BLE001 - a user's sink can raise anything
        _LOG.warning("holdfast: %s could not be closed: %s", sink.shown, type(error).__name__)


def refuse_second_query(spark: Any, record: Writer, stream: str) -> None:
    """Refuse a start while a query of this stream runs in the same process.

    Waiting for it would never end, and Spark finds out only after the sinks were fenced: then
    neither would run.

    Raises:
        AlreadyRunningError: One does; it keeps running.
    """
    running = _RUNNING.get(str(record.location))
    if _is_active(running) or any(query.name == stream for query in spark.streams.active):
        raise AlreadyRunningError(stream)


def _is_active(query: Any) -> bool:
    """Return whether a query runs; one of a JVM that is gone does not."""
    try:
        return query is not None and bool(query.isActive)
    except _no_answer():
        return False


def stop_query(query: Any) -> None:
    """Stop a query; one that is slow to stop cannot commit any more."""
    try:
        query.stop()
    except _no_answer() as error:
        _LOG.warning("holdfast: the query is slow to stop: %s", type(error).__name__)


def _error_of(query: Any) -> str:
    """Return the class of the error that ended a query; empty when none did."""
    try:
        error = query.exception()
    except _no_answer() as gone:  # the JVM is
        return type(gone).__name__
    return "" if error is None else error.getCondition() or type(error).__name__
