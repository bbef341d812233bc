"""Keeps a stream's lease and run while its query runs (G6), and ends both when it has (G8)."""

from __future__ import annotations

import atexit
import queue
import threading
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.events.starts import (
    LeaseExpired,
    LeaseLost,
    LeaseNotRenewed,
    LeaseReleased,
    LeaseRenewed,
    RunEnded,
)
from holdfast.record.leases import Lease, release, renew
from holdfast.record.runs import FAILED, FINISHED, LOST, STOPPED, Run, write_run
from holdfast.streams.query_end import (
    AlreadyRunningError,
    StoppedError,
    close_sink,
    error_of,
    has_ended,
    is_active,
    stop_query,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from holdfast.sinks.sink import SinkWriter
    from holdfast.storage.write import Writer

_RENEWALS_PER_TERM = 3
SECONDS_TO_END = 20.0
"""How long the end of a program, or `query.stop()`, waits until the lease is released."""
THREAD = "holdfast-lease"
_RUNNING: dict[str, tuple[StreamingQuery, LeaseRenewer]] = {}
"""The queries that this process runs, by the location of their record."""


class LeaseRenewer:
    """A lease that is renewed by a thread of its own: while the stream starts, and while it runs.

    A start can take longer than a term. Without heartbeats another driver would take it for dead.
    """

    is_handed_over = False  # to another process, which outlives this one

    def __init__(self, record: Writer, lease: Lease, sinks: tuple[SinkWriter, ...]) -> None:
        """Keep nothing yet."""
        self._record = record
        self._stream = record.location.name
        self._sinks = sinks
        self._lease = lease
        self._renewed_at = clock.monotonic()
        self._query: StreamingQuery | None = None
        self._is_decided = threading.Event()
        """Set once there is a query, or none is to come."""
        self._run: Run | None = None
        self._busy = threading.Lock()
        self._stop_requests: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._has_ended, self._is_done = threading.Event(), threading.Event()
        """Set when the query has ended, and when everything is done after that."""
        self.is_lost = False
        self.is_unconfirmed = False
        """Whether it is given up without a sign of another driver: it was not renewed in time."""
        self.is_stopping = False
        """Whether this program has asked for the query's end."""
        self.is_over = False
        """Whether the lease is released, or about to be: no batch may be written any more."""
        self.last_batch: int | None = None
        """The last batch that reached every sink in this run."""
        self.failed: tuple[int, BaseException] | None = None
        """The batch that failed, and why."""

    @property
    def lease(self) -> Lease:
        """As it was last written."""
        return self._lease

    def _silence_s(self) -> float:
        return clock.monotonic() - self._renewed_at

    def writing(self) -> threading.Lock:
        """Return what a batch holds while it is written; the lease is not given up meanwhile."""
        return self._busy

    def begin(self) -> None:
        """Renew the lease from now on (G2)."""
        self._thread = threading.Thread(target=self._keep, name=THREAD, daemon=True)
        self._thread.start()

    def hand_over(self) -> None:
        """Be told that the query is about to start; here this process goes on renewing."""

    def abandon(self) -> None:
        """Release the lease of a start that failed."""
        self._is_decided.set()
        self.wait()
        if not self._busy.acquire(timeout=SECONDS_TO_END):
            emit(Warned("a batch still runs, so the lease is not released"))
            return
        try:
            self.is_over = True
            if not self.is_lost:
                self._give_up()
        finally:
            self._busy.release()

    def keep(self, query: StreamingQuery, run: Run) -> None:
        """Write the run down, and renew the lease until the query has ended (G6).

        When the lease is lost, the query is stopped.

        Raises:
            WriteError: The run could not be written down; nothing keeps the lease then.
        """
        # Without a run the next start could not tell what this one was: so this one is an error.
        write_run(self._record, run)
        self._run = run
        _RUNNING[str(self._record.location)] = query, self
        # It is there from the beginning: a program that is ending can start no thread.
        threading.Thread(target=self._stop_when_asked, args=(query,), daemon=True).start()
        atexit.unregister(_end_all)
        atexit.register(_end_all)  # again, so that it comes before what Spark has registered
        self._query = query
        self._is_decided.set()

    def ask_to_stop(self) -> None:
        """Have the query stopped by another thread; a signal handler may call this."""
        self._stop_requests.put(True)

    # Not `Thread.join`: one that Ctrl-C interrupts takes the thread for ended from then on.
    def wait(self, seconds: float = SECONDS_TO_END) -> bool:
        """Wait until the lease of a query that ends is released; return whether it is."""
        return self._thread is None or self._is_done.wait(seconds)

    def wait_for_end(self, seconds: float | None) -> bool:
        """Wait until the query has ended, None: for ever; its lease may still be held then."""
        return self._thread is None or self._has_ended.wait(seconds)

    def _stop_when_asked(self, query: StreamingQuery) -> None:
        if self._stop_requests.get() and is_active(query):
            self.is_stopping = True
            stop_query(query)

    def _keep(self) -> None:
        try:
            while not self._is_decided.wait(self._pause_s):
                self._renew()
            if self._query is not None:
                self._keep_running(self._query)
        finally:
            self._has_ended.set()
            self._is_done.set()

    @property
    def _pause_s(self) -> float:
        return self._lease.term_s / _RENEWALS_PER_TERM

    def holds(self) -> bool:
        """Return whether the lease is held, as far as is known: each sink has a fence of its own.

        The record is asked if the last heartbeat is too long ago: a process that was paused runs on
        before its heartbeat does.
        """
        if not self.is_over and self._silence_s() >= self._lease.term_s / 2:
            self._renew()
        return not self.is_lost and not self.is_over

    def is_confirmed(self) -> bool:
        """Return whether no other driver can have taken the lease: it was renewed within a term."""
        return self.holds() and self._silence_s() <= self._lease.term_s

    def _renew(self) -> None:
        """Show that this driver lives, unless another one has taken over."""
        if self.is_lost:
            return
        asked_at = clock.monotonic()
        try:
            fresh = renew(self._record, self._lease)
        except HoldfastError as error:
            # The store does not answer: the term runs on, and the fence holds meanwhile.
            emit(LeaseNotRenewed(self._stream, seconds=self._silence_s(), why=error.why))
            return
        self._renewed_at = asked_at
        self.is_lost = fresh is None
        self._lease = fresh or self._lease
        if fresh is not None:
            emit(LeaseRenewed(self._stream, epoch=fresh.epoch))

    def _keep_running(self, query: StreamingQuery) -> None:
        while not self.is_lost and not has_ended(query, self._pause_s):
            self._renew()
            if any(sink.is_native for sink in self._sinks):  # no fence holds for it meanwhile
                self.is_unconfirmed = not self.is_confirmed() and not self.is_lost
                if self.is_unconfirmed:
                    self.is_lost = True
        if self.is_lost:
            event = LeaseExpired if self.is_unconfirmed else LeaseLost
            emit(event(self._stream, epoch=self._lease.epoch))
            stop_query(query)
        self._has_ended.set()
        self._stop_requests.put(False)
        with self._busy:
            self.is_over = True
            for sink in self._sinks:
                close_sink(sink)
            self._end_run(query)
            if not self.is_lost:
                self._give_up()
        if _RUNNING.get(str(self._record.location), (None, None))[1] is self:
            del _RUNNING[str(self._record.location)]

    def was_stopped(self) -> bool:
        """Return whether the query ended because it was to end, and not by an error of its own."""
        error = self.failed[1] if self.failed else None
        if isinstance(error, HoldfastError):
            return isinstance(error, StoppedError)
        return self.is_stopping

    def _end_run(self, query: StreamingQuery) -> None:
        told = [batch for sink in self._sinks if (batch := sink.newest_batch()) is not None]
        self.last_batch = max(told, default=self.last_batch)
        how = self._how_it_ended(query)
        self._write_run(**how)
        at = (self._stream, self._lease.epoch)
        emit(RunEnded(*at, ended=how["ended"], batch=self.last_batch, error=how["error"]))

    def _how_it_ended(self, query: StreamingQuery) -> dict[str, str]:
        # A batch that was interrupted by a stop ends with an error, which is none.
        error = "" if self.was_stopped() else error_of(query)
        ended = FAILED if error else STOPPED if self.was_stopped() else FINISHED
        return {
            "ended": LOST if self.is_lost else ended,
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
            emit(Warned(f"the run could not be written down: {error.why}"))

    def _give_up(self) -> None:
        try:
            release(self._record, self._lease)
        except HoldfastError as error:
            emit(Warned(f"the lease could not be given up: {error.why}"))
        emit(LeaseReleased(self._stream, epoch=self._lease.epoch))


def _end_all() -> None:
    """Stop what still runs when the program ends, and wait until the leases are released."""
    renewers = [each for _, each in list(_RUNNING.values()) if not each.is_handed_over]
    for renewer in renewers:
        renewer.ask_to_stop()
    until = clock.monotonic() + SECONDS_TO_END
    for renewer in renewers:
        if not renewer.wait(max(until - clock.monotonic(), 0)):
            emit(Warned("a lease was not released in time; it expires by itself"))


def refuse_second_query(spark: SparkSession, record: Writer, stream: str) -> None:
    """Refuse a start while a query of this stream runs in the same process.

    Waiting for it would never end, and Spark finds out only after the sinks were fenced: then
    neither would run.

    Raises:
        AlreadyRunningError: One does; it keeps running.
    """
    for query in spark.streams.active:
        if query.name == stream:
            raise AlreadyRunningError(stream, str(query.id))
    if str(record.location) in _RUNNING:
        query, renewer = _RUNNING[str(record.location)]
        if is_active(query):
            raise AlreadyRunningError(stream, str(query.id))
        renewer.wait()  # it has ended: its lease is about to be released
