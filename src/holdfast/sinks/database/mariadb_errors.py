"""What the errors of MariaDB and MySQL mean, by their numbers; their texts are not shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sinks.database import failures
from holdfast.sinks.database.failures import Trouble

if TYPE_CHECKING:
    from holdfast.sinks.database.dialect import Connection

LOCK_WAIT = 1205
_GONE = frozenset({0, 1053, 1077, 1079, 1927, 2002, 2003, 2006, 2013, 2014, 2055, 3169, 4031})
"""Numbers of sessions that end: shutdown, KILL, a connection that broke."""
_BUSY = frozenset({LOCK_WAIT, 1213, 1020, 3101})
"""Somebody else was first: everything is taken back, and the same can be tried again."""
_NO_TABLE = frozenset({1146, 1051, 1049})
_NO_SESSION = 1094
_HOW = {
    1062: "Two rows have one value of a unique index: filter them in the query. A stream that "
    "appends can merge them instead: keys=.",
    1038: "Merge fewer columns of long texts: the server cannot sort so many.",
    1095: "A driver of another user is paused within its batch: end it, or its session (KILL).",
    1142: "Grant this user SELECT, INSERT, UPDATE and DELETE on the table and on holdfast_ledger.",
    1044: "Grant this user the rights on the database, CREATE TEMPORARY TABLES for keys=.",
    1153: "Raise max_allowed_packet of the server, or make the values smaller.",
    1290: "The server is read-only: name the primary in the URL.",
    1836: "The server is read-only: name the primary in the URL.",
    1665: "Set binlog_format to ROW or MIXED: READ COMMITTED needs it.",
    3948: "Set local_infile on the server, or take local_infile out of the URL.",
    4166: "Set local_infile on the server, or take local_infile out of the URL.",
}
_UNREACHABLE = {
    1045: ("The server refused the user or the password (1045).", False),
    1044: ("The user has no right to use the database (1044).", False),
    1049: ("The database does not exist (1049).", False),
    1040: ("The server has too many clients (1040).", True),
    1203: ("The user has too many connections (1203).", True),
    2003: ("No server answers at that host and port (2003).", True),
    2002: ("No server answers at that socket (2002).", True),
    2006: ("The server closed the connection during the login (2006).", True),
    2013: ("The server closed the connection during the login (2013).", True),
    1053: ("The server is shutting down (1053).", True),
}


def trouble_of(error: Exception) -> Trouble | None:
    """Return what an error of PyMySQL means; None if it is none of its."""
    from pymysql.err import Error, ProgrammingError

    if isinstance(error, OSError | EOFError):
        return Trouble(code=type(error).__name__, is_gone=True)
    if not isinstance(error, Error):
        return None
    number = number_of(error)
    if number is None and isinstance(error, ProgrammingError):
        return None  # PyMySQL itself has not understood what it was given
    if number is None or number in _GONE:
        return Trouble(code=shown(number), is_gone=True)
    return Trouble(
        code=shown(number),
        is_busy=number in _BUSY,
        has_no_table=number in _NO_TABLE,
        how=_HOW.get(number, ""),
    )


def number_of(error: Exception) -> int | None:
    """Return the server's number of an error; None without one."""
    first = error.args[0] if error.args else None
    return first if isinstance(first, int) else None


def shown(number: int | None) -> str:
    """Return a number with the name that the server has for it."""
    from pymysql.constants import ER

    if not number:
        return "nothing any more"
    name = next((name for name, value in vars(ER).items() if value == number), "")
    return f"{number} {name}".rstrip()


def why_not_connected(error: Exception) -> tuple[str, bool]:
    """Say why there is no connection, and whether it may be there later."""
    number = number_of(error)
    return failures.why_not_connected(error, code=number, known=_UNREACHABLE, shown=shown(number))


def end_session(connection: Connection, session: int) -> None:
    """End a session, unless it has ended meanwhile."""
    from pymysql.err import MySQLError

    try:
        with connection.cursor() as cursor:
            cursor.execute(f"KILL {session}")
    except MySQLError as error:
        if number_of(error) != _NO_SESSION:
            raise
