"""What Spark serves on a socket is read as it is sent; data that was cut is an error."""

from __future__ import annotations

import io
import socket
import struct
import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import (
    CalendarIntervalType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from holdfast.spark.arrow import ServedError, arrow_schema
from holdfast.spark.classic.arrow import SocketJob, read_messages
from tests.stand_ins import stand_in

ROWS = [[1, 2], [3], [4, 5, 6]]
SECRET = "secret"


def served(*, order: bytes | None = None) -> bytes:
    """What the JVM writes: an Arrow stream, then the order of its record batches."""
    sink = io.BytesIO()
    batches = [pa.record_batch({"id": rows}) for rows in ROWS]
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue() + (integers(3, 2, 0, 1) if order is None else order)


def integers(*numbers: int) -> bytes:
    return struct.pack(f"!{len(numbers)}i", *numbers)


def values(messages: list[Any]) -> list[Any]:
    return [each if isinstance(each, list) else each.column(0).to_pylist() for each in messages]


def test_record_batches_come_first_and_then_their_order() -> None:
    assert values(list(read_messages(io.BytesIO(served())))) == [*ROWS, [2, 0, 1]]


def test_a_record_batch_is_there_before_the_next_one_is_sent() -> None:
    reading, writing = socket.socketpair()
    with reading, writing, reading.makefile("rb") as file:
        sink = writing.makefile("wb", buffering=0)
        batches = [pa.record_batch({"id": rows}) for rows in ROWS]
        messages = read_messages(file)
        with sink, pa.ipc.new_stream(sink, batches[0].schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
                assert values([next(messages)]) == values([batch])


def test_no_rows_are_an_order_of_nothing() -> None:
    sink = io.BytesIO()
    pa.ipc.new_stream(sink, pa.schema({"id": pa.int64()})).close()
    assert list(read_messages(io.BytesIO(sink.getvalue() + integers(0)))) == [[]]


def test_data_that_is_cut_anywhere_is_an_error() -> None:
    whole = served()
    for size in range(len(whole)):
        with pytest.raises((EOFError, OSError, ValueError)):
            list(read_messages(io.BytesIO(whole[:size])))


def test_an_error_that_spark_sends_is_raised_with_its_message() -> None:
    message = "upstream é".encode()
    sent = served(order=integers(-1, len(message)) + message)
    with pytest.raises(ServedError, match="upstream é"):
        list(read_messages(io.BytesIO(sent)))


@pytest.fixture
def job() -> Any:
    """A job whose server accepts one connection, as Spark's does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve_once, args=(server,))
        thread.start()
        yield arrow_job(server.getsockname()[1], SECRET, None)
        thread.join()


def arrow_job(*address: Any) -> SocketJob:
    java = SimpleNamespace(collectAsArrowToPython=lambda: address)
    return SocketJob(stand_in(SimpleNamespace(_jdf=java)))


def serve_once(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection, connection.makefile("rwb") as file:
        assert file.read(4 + len(SECRET)) == integers(len(SECRET)) + SECRET.encode()
        file.write(integers(2) + b"ok" + served())


def test_a_job_is_read_from_its_socket(job: SocketJob) -> None:
    assert values(list(job.messages())) == [*ROWS, [2, 0, 1]]


def test_the_connection_is_closed_when_reading_stops(job: SocketJob) -> None:
    messages = job.messages()
    assert values([next(messages)]) == ROWS[:1]
    messages.close()
    assert list(messages) == []


def test_the_function_that_connects_is_found_where_older_versions_have_it(
    job: SocketJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("pyspark.util.local_connect_and_auth")
    assert values(list(job.messages())) == [*ROWS, [2, 0, 1]]


def test_a_job_that_failed_says_so_when_it_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # Spark's own function asks the JVM what kind of exception it is.
    monkeypatch.setattr("pyspark.errors.exceptions.captured.unwrap_spark_exception", nullcontext)
    arrow_job(1, SECRET, SimpleNamespace(getResult=lambda: None)).wait()

    def fail() -> None:
        raise PySparkException("upstream")

    with pytest.raises(PySparkException, match="upstream"):
        arrow_job(1, SECRET, SimpleNamespace(getResult=fail)).wait()


def frame(*types: Any) -> Any:
    schema = StructType()
    for number, each in enumerate(types):
        schema = schema.add(f"c{number}", each)
    return SimpleNamespace(schema=schema)


def test_timestamps_are_in_utc_and_those_without_a_zone_have_none() -> None:
    found = arrow_schema(frame(LongType(), StringType(), TimestampType(), TimestampNTZType()))
    zoned, plain = pa.timestamp("us", tz="UTC"), pa.timestamp("us")
    assert found.types == [pa.int64(), pa.string(), zoned, plain]


def test_a_version_without_a_time_zone_parameter_is_not_given_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """PySpark 4.0 and 4.1 always use UTC."""
    monkeypatch.setattr("pyspark.sql.pandas.types.to_arrow_schema", lambda schema: ["utc", schema])
    df = frame(LongType())
    assert arrow_schema(df) == ["utc", df.schema]


def test_a_type_that_arrow_does_not_have_is_spark_s_own_error() -> None:
    with pytest.raises(PySparkException):
        arrow_schema(frame(CalendarIntervalType()))
