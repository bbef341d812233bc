"""`hf.record_queries`: the history of every query of a session, where there is no event log.

One thread writes what Spark tells of its queries below `<root>/_holdfast/_queries`, in the form of
Spark's event log: `--event-log` reads both. A query never waits for it, and never fails by it: what
cannot be written within bounds is left out and counted.
"""

from __future__ import annotations

import atexit
import re
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING

from holdfast.clock import now
from holdfast.errors import ConfigError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.formats.event_log.events import QueryStarted
from holdfast.formats.event_log.parsing import parse_event
from holdfast.record.layout import HOME, QUERIES
from holdfast.redact import redact
from holdfast.sinks.session import place_of, writer_of
from holdfast.spark.port import port_of, refuse_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.storage.write import Writer

FILE_BYTES = 1 << 20
"""Of one file: it is written again with every batch until it is full."""
PENDING_BYTES = 8 << 20
"""That wait for a store which does not answer; more is left out."""
SECONDS_TO_END = 10.0
_UNSAFE = re.compile(r"[^A-Za-z0-9-]")
_RECORDINGS: dict[tuple[str, str, int], Recording] = {}
"""By application, root and session: two recordings of one would write every batch twice."""


class Recording:
    """What writes the events of one application; `stop()` ends it, and so does the driver's end."""

    def __init__(
        self,
        writer: Writer,
        *,
        directory: str,
        every_seconds: float,
        most_bytes: int,
    ) -> None:
        """Write nothing yet.

        Args:
            writer: Of the root.
            directory: Of the application, below the root.
            every_seconds: How long an event waits at most, so that several are one write.
            most_bytes: Of all files of the application; the oldest are deleted.

        Raises:
            ConfigError: A number makes no sense.
        """
        if every_seconds <= 0 or most_bytes < 2 * FILE_BYTES:
            least = f"{2 * FILE_BYTES:,}"
            raise ConfigError(f"every_seconds must be above 0, most_bytes at least {least}.")
        self.lost = 0
        """Events that were left out."""
        self.failed: str | None = None
        """Why the last write failed; None if it did not."""
        self._writer, self._directory = writer, directory
        self._every, self._most_files = every_seconds, max(2, most_bytes // FILE_BYTES)
        self._events: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._file, self._number = bytearray(), 1
        self._is_ending = threading.Event()
        self._is_done = threading.Event()
        self._lock = threading.Lock()
        self._describe: Callable[[str, str], bytes | None] = lambda *_: None
        self._stop_listening: Callable[[], None] = lambda: None

    def begin(
        self,
        *,
        describe: Callable[[str, str], bytes | None],
        stop_listening: Callable[[], None],
    ) -> None:
        """Write from now on.

        Args:
            describe: From a query and its run to the line that says more of it.
            stop_listening: Has no more events taken.
        """
        self._describe, self._stop_listening = describe, stop_listening
        threading.Thread(target=self._write_on, name="holdfast-record", daemon=True).start()

    def take(self, event: bytes) -> None:
        """Take an event; it is written soon. This does not wait."""
        with self._lock:
            if self._waiting_bytes + len(event) > PENDING_BYTES:
                self.lost += 1
                return
            self._events.append(event)
            self._waiting_bytes += len(event)

    def stop(self, seconds: float = SECONDS_TO_END) -> bool:
        """Write what is left; return whether all is written. A second call does nothing."""
        try:
            self._stop_listening()
        finally:
            self._is_ending.set()
        self._is_done.wait(seconds)
        return self._is_done.is_set() and not self.lost and self.failed is None

    def _write_on(self) -> None:
        try:
            while not self._is_ending.wait(self._every):
                self._write()
            self._write()
        finally:
            self._is_done.set()

    def _write(self) -> None:
        """Write the events that wait; whatever happens, they wait on until it works."""
        try:
            self._write_events()
        except Exception as error:  # noqa: BLE001 - the thread must live as long as the queries
            self._fail(str(error) or type(error).__name__)

    def _write_events(self) -> None:
        with self._lock:
            events = list(self._events)
        if not events:
            return
        lines = bytearray()
        for event in events:
            lines += event + b"\n" + self._more_of(event)
        self._writer.put(self._path(self._number), bytes(self._file + lines))
        self.failed = None
        with self._lock:
            for _ in events:
                self._waiting_bytes -= len(self._events.popleft())
        self._file += lines
        if len(self._file) >= FILE_BYTES:
            self._begin_file()

    def _more_of(self, event: bytes) -> bytes:
        """Return the line that describes a query which has begun."""
        begun = parse_event(event)
        if not isinstance(begun, QueryStarted):
            return b""
        described = self._describe(begun.query_id, begun.run_id)
        return b"" if described is None else described + b"\n"

    def _begin_file(self) -> None:
        self._file, self._number = bytearray(), self._number + 1
        old = self._number - self._most_files
        if old >= 1:
            self._writer.delete(self._path(old))

    def _path(self, number: int) -> str:
        return f"{self._directory}/events_{number}_{self._directory.rpartition('/')[2]}"

    def _fail(self, why: str) -> None:
        if self.failed is None:
            emit(Warned(f"The history of queries is not written: {redact(why)} The queries go on."))
        self.failed = why


def record_queries(
    spark: SparkSession,
    *,
    root: str,
    every_seconds: float = 5.0,
    most_bytes: int = 256 << 20,
) -> Recording:
    """Record every start, batch and end of every query of a session, guarded or not.

    `holdfast facts LOCATION --event-log ROOT/_holdfast/_queries` reads it, as `diagnose` does.

    Args:
        spark: A classic session.
        root: Where the record is written: a directory on disk, in a bucket or on HDFS.
        every_seconds: How long an event waits at most before it is written.
        most_bytes: Of this application's history; the oldest part is deleted.

    Returns:
        What writes; call its `stop()` at the end, or let the end of the driver do it.

    Raises:
        UnsupportedSparkError: It is a session of Spark Connect.
        ConfigError: A number or the root makes no sense.
    """
    refuse_connect(spark, "recording queries")
    place = place_of(spark, root)
    application = _UNSAFE.sub("-", spark.sparkContext.applicationId)
    key = application, str(place), id(spark)
    if key not in _RECORDINGS:
        recording = Recording(
            writer_of(spark, place),
            directory=f"{HOME}/{QUERIES}/eventlog_v2_{application}-{now():%Y%m%dt%H%M%S}-{token_hex(4)}",
            every_seconds=every_seconds,
            most_bytes=most_bytes,
        )
        _begin(spark, recording, key)
        _RECORDINGS[key] = recording
        atexit.register(recording.stop)
    return _RECORDINGS[key]


def _begin(spark: SparkSession, recording: Recording, key: tuple[str, str, int]) -> None:
    port = port_of(spark)
    for line in port.describe_application(spark):
        recording.take(line)
    stop_listening = port.listen_to_queries(spark, recording.take)

    def stop() -> None:
        if _RECORDINGS.get(key) is recording:
            del _RECORDINGS[key]
            stop_listening()

    recording.begin(describe=partial(port.describe_run, spark), stop_listening=stop)
