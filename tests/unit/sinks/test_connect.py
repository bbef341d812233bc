"""What a failed connection is called, and which DSNs are not even tried."""

from __future__ import annotations

import pickle

import psycopg
import pytest

from holdfast.errors import HoldfastError
from holdfast.sinks.postgres.connect import (
    CLOSED,
    JDBC,
    NOT_PARSED,
    TIMEOUT,
    UNKNOWN,
    ConnectError,
    find_problem,
    reason_of,
)

AT_SERVER = 'connection failed: connection to server at "127.0.0.1", port 5432 failed: '


@pytest.mark.parametrize(
    ("said", "why", "is_retryable"),
    [
        ('FATAL:  password authentication failed for user "app"', "28P01", False),
        ("fe_sendauth: no password supplied", "28P01", False),
        ('FATAL:  role "app" does not exist', "28000", False),
        ('FATAL:  no pg_hba.conf entry for host "h", SSL off', "pg_hba.conf", False),
        ('FATAL:  database "x" does not exist', "3D000", False),
        ("FATAL:  sorry, too many clients already", "53300", True),
        ('FATAL:  too many connections for role "app"', "53300", True),
        ("FATAL:  remaining connection slots are reserved for roles", "53300", True),
        ("FATAL:  the database system is starting up", "57P03", True),
        ("FATAL:  the database system is shutting down", "57P03", True),
        ("Connection refused", "No server", True),
        ("session is read-only", "hot standby", True),
        ("transaction blocks not allowed in statement pooling mode", "pool_mode", False),
        ("connection timeout expired", "in time", True),
        ("server closed the connection unexpectedly", "closed", True),
        ("[Errno -3] Temporary failure in name resolution", "network", True),
        ("failed to resolve host 'x': [Errno -2] Name or service not known", "resolved", False),
        ("server does not support SSL, but SSL was required", "TLS", False),
        ('root certificate file "/x" does not exist', "certificate", False),
        ('invalid sslmode value: "x"', "invalid value", False),
    ],
)
def test_the_reason_is_named_and_says_whether_to_try_again(
    said: str, why: str, is_retryable: bool
) -> None:
    reason = reason_of(psycopg.OperationalError(AT_SERVER + said))
    assert why in reason.why
    assert reason.retryable == is_retryable


def test_a_timeout_is_known_by_its_class_and_the_unknown_is_not_retried() -> None:
    assert reason_of(psycopg.errors.ConnectionTimeout("x")) is TIMEOUT
    assert reason_of(psycopg.OperationalError("FATAL:  etwas anderes")) is UNKNOWN
    assert not UNKNOWN.retryable
    # What a pool says that finds no server.
    assert reason_of(psycopg.errors.ProtocolViolation("query_wait_timeout")) is CLOSED


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://app:p@h/db",
        "postgres://app:p%40q@h:5432/db?sslmode=require",
        "postgresql://app:p#q?r:s@h/db",
        "postgresql://app:p@h1:1,h2:2/db?target_session_attrs=read-write",
        "postgresql://app:p@[::1]:5432/db",
        "postgresql://app@h/db?password=p@q&application_name=a@b",
        "postgresql:///db?host=/run/postgresql&user=app",
        "postgresql://%2Frun%2Fpostgresql/db",
        "host=h dbname=db user=app@server password='p @q'",
        "host=@abstract dbname=a@b",
        "service=readings",
    ],
)
def test_a_dsn_that_libpq_reads_as_it_was_meant_is_used(dsn: str) -> None:
    assert find_problem(dsn) is None


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://app:p@q@h/db",
        "postgresql://app:p/q@h/db",
        "postgresql://app:12/q@h/db",
        "postgresql://app:p@q/r@h/db",
        "postgresql://app:p@q:1@h/db",
        "postgresql://app:p@q?sslmode=x@h/db",
        "postgresql://h?password=p@q",
        "postgresql://app:password",
        "postgresql://app:99999999/db",
        "postgresql://app:p%q@h/db",
        "host=h password=p q",
        "host=h port=x",
    ],
)
def test_a_dsn_that_libpq_reads_otherwise_is_not_tried(dsn: str) -> None:
    assert find_problem(dsn) is NOT_PARSED


def test_a_jdbc_url_is_told_from_others() -> None:
    assert find_problem("jdbc:postgresql://h/db?user=app&password=p") is JDBC


@pytest.mark.parametrize("reason", [TIMEOUT, NOT_PARSED])
def test_the_error_survives_its_way_back_from_an_executor(reason: object) -> None:
    error = ConnectError("env:READINGS_DSN", reason)  # type: ignore[arg-type]
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, ConnectError)
    assert issubclass(ConnectError, HoldfastError)
    assert issubclass(ConnectError, psycopg.OperationalError)
    assert (again.code, again.name) == ("SINK_UNREACHABLE", "env:READINGS_DSN")
    assert (str(again), again.retryable) == (str(error), reason is TIMEOUT)
