"""What the driver's memory should not hold of a batch waits in a file, and is taken from there.

The file has no name, so that nobody else can open it and nothing of it stays behind a kill. One
thread puts, another takes. Once everything was taken the file begins again at its start, so that
it is as long as what waited at once, not as the batch.
"""

from __future__ import annotations

import os
import tempfile
import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.spark.arrow import RecordBatch


class Spilled(NamedTuple):
    """A record batch that waits in the file."""

    at: int
    size: int
    schema: pa.Schema
    nbytes: int
    """What it takes in memory."""


class Spill:
    """A file of record batches."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._file: int | None = None
        self._end = 0
        self._waiting = 0
        self._lock = threading.Lock()

    def put(self, batch: RecordBatch) -> Spilled:
        """Write a record batch.

        Raises:
            OSError: The directory for temporary files takes no more.
        """
        data = memoryview(batch.serialize())
        with self._lock:
            if not self._waiting:
                self._end = 0
            at, self._end = self._end, self._end + len(data)
            self._waiting += 1
        file = self._open()
        done = 0
        while done < len(data):
            done += os.pwrite(file, data[done:], at + done)
        return Spilled(at=at, size=len(data), schema=batch.schema, nbytes=batch.nbytes)

    def take(self, one: Spilled) -> RecordBatch:
        """Read a record batch; its place may be used again.

        Raises:
            OSError: The file gives less than was written.
        """
        import pyarrow as pa

        data = os.pread(self._open(), one.size, one.at)
        if len(data) != one.size:
            raise OSError(f"{one.size} bytes were written to a temporary file, and fewer are there")
        with self._lock:
            self._waiting -= 1
        return pa.ipc.read_record_batch(pa.py_buffer(data), one.schema)

    def close(self) -> None:
        """Give the space back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        if self._file is None:
            with tempfile.TemporaryFile(prefix="holdfast-") as file:
                self._file = os.dup(file.fileno())
        return self._file
