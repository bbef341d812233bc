"""The rows of a DataFrame as Arrow data, read from the socket that the JVM serves them on.

What the JVM writes into it (`Dataset.collectAsArrowToPython`) is the same from 3.5 to 4.3, but not
what PySpark reads it with: `_load_from_socket` is a context manager only from 4.2 on, and
`ArrowCollectSerializer` buffers all of the data from 4.3 on.

    an Arrow IPC stream       schema, record batches in the order of arrival, end-of-stream marker
    int32, big endian         the number of record batches; -1 if the job failed
    int32 each, or            the position of each record batch in the order of partitions
    int32 length, UTF-8       the message of the error
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, BinaryIO

from holdfast.spark.arrow import Order, RecordBatch, ServedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FAILED = -1
_INT = struct.Struct("!i")


class SocketJob:
    """A Spark job that computes a DataFrame and serves its rows on a socket of this machine."""

    def __init__(self, df: DataFrame) -> None:
        """Start the job.

        Raises:
            PySparkException, Py4JError: Spark cannot run the query.
        """
        # As `DataFrame.toArrow` does. The port is a path if Spark uses Unix domain sockets.
        self._port, self._secret, self._server = df._jdf.collectAsArrowToPython()

    def messages(self) -> Generator[RecordBatch | Order]:
        """Yield each record batch when it arrives, then the order of all of them."""
        file, socket = _connect(self._port, self._secret)
        with closing(socket), closing(file):
            yield from read_messages(file)

    def wait(self) -> None:
        """Wait until Spark has finished the job."""
        from pyspark.errors.exceptions.captured import unwrap_spark_exception

        with unwrap_spark_exception():
            self._server.getResult()


def read_messages(file: BinaryIO) -> Iterator[RecordBatch | Order]:
    """Yield the record batches in a stream, as they arrive, and then their order.

    Raises:
        ServedError: Spark sent an error.
        EOFError, OSError, ValueError: The stream ends too early; the last two are pyarrow's.
    """
    import pyarrow as pa

    yield from pa.ipc.open_stream(file)
    count = _read_int(file)
    if count == _FAILED:
        raise ServedError(_read_exactly(file, _read_int(file)).decode(errors="replace"))
    yield [_read_int(file) for _ in range(count)]


def _connect(port: int | str, secret: str | None) -> tuple[Any, Any]:
    """Return a file and its socket, connected to what Spark serves, without a time limit."""
    try:
        from pyspark.util import local_connect_and_auth
    except ImportError:  # PySpark 3.5
        from pyspark.java_gateway import local_connect_and_auth  # type: ignore[attr-defined]

    file, socket = local_connect_and_auth(port, secret)
    socket.settimeout(None)  # nobody knows how long a job takes
    return file, socket


def _read_int(file: BinaryIO) -> int:
    (number,) = _INT.unpack(_read_exactly(file, _INT.size))
    return int(number)


def _read_exactly(file: BinaryIO, size: int) -> bytes:
    found = file.read(size)
    if len(found) < size:
        raise EOFError(f"Spark closed the connection: {len(found)} of {size} bytes arrived")
    return found
