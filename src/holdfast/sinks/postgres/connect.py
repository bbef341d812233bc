"""Connecting to PostgreSQL without showing any part of the DSN.

libpq and psycopg quote what they could not parse or resolve, and in a mistyped DSN that is a piece
of the password: of `postgresql://app:S3cr@tPW@db/x` the host is `tPW@db`. So no text of theirs, and
no part of the DSN, not even the host, is in an error from here, in its chain or in its frames.
A URL that libpq would read differently from how it was meant is refused before it is used, because
psycopg would ask a name server for the piece. What psycopg logs of a new connection is dropped.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import psycopg
from psycopg.conninfo import conninfo_to_dict

from holdfast.errors import HoldfastError
from holdfast.sinks.secrets import Secret, reveal, shown_name

Connection = psycopg.Connection[Any]


class Reason(NamedTuple):
    """Why there is no connection, in words that hold nothing of the DSN."""

    why: str
    retryable: bool = False


NOT_PARSED = Reason(
    "The DSN cannot be parsed. In a URL, write special characters of the user and the password "
    "percent-encoded (@ is %40, / is %2F, % is %25); in keyword form, quote values with spaces."
)
JDBC = Reason(
    "The DSN is a JDBC URL. Write it as postgresql://user:password@host:5432/database instead."
)
UNKNOWN = Reason("The connection failed for a reason that Holdfast does not recognise.")
CLOSED = Reason("The server closed the connection.", retryable=True)
TIMEOUT = Reason("The server did not answer in time.", retryable=True)
STANDBY = Reason(
    "The server is a hot standby: it takes no batch, and its rows and its ledger can be older than "
    "the primary's. Name the primary in the DSN, or several hosts; Holdfast then takes the one "
    "that can be written to.",
    retryable=True,
)

_REASONS = {
    "password authentication failed|no password supplied|authentication failed for|"
    'role ".*" does not exist|is not permitted to log in': Reason(
        "The server refused the user or the password (SQLSTATE 28P01 or 28000)."
    ),
    "pg_hba.conf": Reason("The server's pg_hba.conf does not allow this connection."),
    'database ".*" does not exist|no such database': Reason(
        "The database does not exist (SQLSTATE 3D000)."
    ),
    "permission denied for database": Reason("The user has no right to connect to the database."),
    "too many clients|too many connections|connection slots|no more connections": Reason(
        "The server has too many clients (SQLSTATE 53300).", retryable=True
    ),
    "statement pooling mode": Reason(
        "PgBouncer pools statements, and Holdfast needs transactions: set pool_mode = transaction."
    ),
    "session is read-only|in hot standby mode": STANDBY,
    "the database system is|not accepting connections": Reason(
        "The server is starting up, shutting down or in recovery (SQLSTATE 57P03).", retryable=True
    ),
    "certificate|private key": Reason("A certificate or key for TLS cannot be used."),
    "Connection refused|No such file or directory": Reason(
        "No server accepts connections at that host and port.", retryable=True
    ),
    "timeout expired|timed out": TIMEOUT,
    "unreachable|No route to host|Temporary failure in name resolution": Reason(
        "The server cannot be reached over the network.", retryable=True
    ),
    "closed the connection|closed unexpectedly|connection is lost|Connection reset|Broken pipe|"
    "server conn crashed": Reason(
        "The server closed the connection during the login.", retryable=True
    ),
    "resolve host|translate host": Reason("The host name cannot be resolved."),
    "service file|definition of service": Reason(
        "The connection service cannot be read from the service file."
    ),
    "SSL|TLS": Reason("A TLS connection could not be made."),
    "invalid": Reason("The DSN has an option with an invalid value."),
}
"""By what PostgreSQL, libpq and psycopg say; a server may say it in another language."""

_FREE_TEXT = {"application_name", "fallback_application_name", "options", "password", "user"}
"""Parameters of a URL that can hold an unencoded @."""
_MAX_PORT = 65535
_KEEPALIVE = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}


class ConnectError(HoldfastError, psycopg.OperationalError):
    """There is no connection to PostgreSQL; also an `OperationalError`, as psycopg's own is."""

    code = "SINK_UNREACHABLE"

    def __init__(self, name: str, reason: Reason) -> None:
        self.name = name
        """Of the secret that holds the DSN: `env:READINGS_DSN`."""
        self.retryable = reason.retryable
        how = f"Check the DSN ({name}), for example with psql; no part of it is shown here."
        if reason.retryable:
            how = "Start the stream again once the server accepts connections."
        super().__init__(
            what=f"Cannot connect to PostgreSQL with the DSN of {name}.", why=reason.why, how=how
        )


def connect(dsn: Secret) -> Connection:
    """Return a new connection that commits each statement and prepares none on the server.

    Raises:
        ConnectError: The DSN cannot be parsed, or the server is away or refuses.
        ConfigError: There is no DSN where the secret should be.
    """
    opened = _open(dsn)
    if isinstance(opened, ConnectError):
        raise opened  # here, where no exception is being handled and no local holds the DSN
    return opened


def _open(dsn: Secret) -> Connection | ConnectError:
    text, name = reveal(dsn), shown_name(dsn)
    if (problem := find_problem(text)) is not None:
        return ConnectError(name, problem)
    try:
        with _unlogged():
            # Texts are sent as UTF-8, whatever a role, the environment or the database is set to.
            connection = psycopg.connect(
                text,
                autocommit=True,
                prepare_threshold=None,
                client_encoding="utf8",
                **_keepalive(text),
                **_writable(text),
            )
            if not _is_standby(connection):
                return connection
        connection.close()
        return ConnectError(name, STANDBY)
    except (psycopg.Error, ValueError, OSError) as error:
        return ConnectError(name, reason_of(error))


@contextmanager
def _unlogged() -> Iterator[None]:
    """Drop what psycopg logs in this thread: at DEBUG it quotes addresses and answers."""
    here, logger = threading.get_ident(), logging.getLogger("psycopg")

    def is_elsewhere(_: logging.LogRecord) -> bool:
        return threading.get_ident() != here

    logger.addFilter(is_elsewhere)
    try:
        yield
    finally:
        logger.removeFilter(is_elsewhere)


def _keepalive(text: str) -> dict[str, Any]:
    """Return what makes a connection notice within a minute that its server is gone."""
    given = conninfo_to_dict(text)
    return {name: value for name, value in _KEEPALIVE.items() if name not in given}


def _writable(text: str) -> dict[str, Any]:
    """Return what makes libpq pass over hosts that cannot be written to, if there are several."""
    given = conninfo_to_dict(text)
    hosts = str(given.get("host") or given.get("hostaddr") or "")
    is_asked = "," in hosts and "target_session_attrs" not in given
    return {"target_session_attrs": "read-write"} if is_asked else {}


def _is_standby(connection: Connection) -> bool:
    """Return whether the server replays another one's changes.

    Asked, and not taken from the answer to the login: a pool repeats one that it got long ago. In a
    transaction, because a pool of statements refuses those.
    """
    with connection.transaction(force_rollback=True):
        found = connection.execute("SELECT pg_is_in_recovery()").fetchone()
    return found is not None and bool(found[0])


def find_problem(text: str) -> Reason | None:
    """Return why a DSN should not be used; None if it can be."""
    if text.lower().startswith("jdbc:"):
        return JDBC
    try:
        parts = conninfo_to_dict(text)
    except (psycopg.Error, ValueError):
        return NOT_PARSED
    is_url = text.startswith(("postgresql://", "postgres://"))
    if not _are_ports(str(parts.get("port") or "")) or (is_url and is_misread(text)):
        return NOT_PARSED
    return None


def is_misread(url: str) -> bool:
    """Return whether an unencoded character makes libpq take a piece of a password for a host.

    libpq ends the password at the first @, unless a / comes before it.
    """
    rest = url.partition("://")[2]
    login, at, address = rest.partition("@")
    if not at or "/" in login:
        login, address = "", rest
    place, _, query = address.partition("?")
    parameters = (pair.partition("=") for pair in query.split("&"))
    return (
        "@" in place
        or re.search(r"\?\w+=", login) is not None
        or any("@" in value and name not in _FREE_TEXT for name, _, value in parameters)
    )


def reason_of(error: Exception) -> Reason:
    """Return what an exception of psycopg means, without its text."""
    if isinstance(error, psycopg.errors.ConnectionTimeout):
        return TIMEOUT
    text = str(error)
    found = (reason for pattern, reason in _REASONS.items() if re.search(pattern, text))
    # A pool answers the login by itself, and looks for a server when it is asked something.
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    return next(found, CLOSED if (state or "").startswith(("08", "57P")) else UNKNOWN)


def _are_ports(text: str) -> bool:
    ports = [port for port in text.split(",") if port]
    return all(port.isdecimal() and 0 < int(port) <= _MAX_PORT for port in ports)
