"""What the errors of SQL Server mean, by their numbers; their texts are not shown."""

from __future__ import annotations

from holdfast.sinks.database import failures
from holdfast.sinks.database.failures import Trouble

_GONE = frozenset({233, 596, 4014, 6005, 10053, 10054, 40143, 40197, 40613})
"""Numbers of sessions that end: KILL, a shutdown, a connection that broke, a failover."""
_BUSY = frozenset({1205, 1222, 3960, 3961, 10928, 10929, 40501, 49918, 49919, 49920})
"""Somebody else was first, or the service has no room: everything is taken back."""
_NO_TABLE = frozenset({208, 4902})
_NO_SESSION = 6106
"""The session that was to be ended is gone."""
_HOW = {
    229: "Grant this user SELECT, INSERT, UPDATE and DELETE on the table and on holdfast_ledger.",
    230: "Grant this user SELECT, INSERT, UPDATE and DELETE on the table and on holdfast_ledger.",
    262: "Grant this user CREATE TABLE, or let the owner of the database create holdfast_ledger.",
    297: "Grant this user VIEW SERVER STATE (in Azure SQL: VIEW DATABASE STATE), or end the "
    "driver that is paused within its batch.",
    300: "Grant this user VIEW SERVER STATE (in Azure SQL: VIEW DATABASE STATE), or end the "
    "driver that is paused within its batch.",
    2601: "Two rows have one value of a unique index: filter them in the query. A stream that "
    "appends can merge them instead: keys=.",
    2627: "Two rows have one value of a unique index: filter them in the query. A stream that "
    "appends can merge them instead: keys=.",
    3906: "The database is read-only: name the primary in the URL.",
    6102: "A driver is paused within its batch: end it, or its session (KILL), or grant this user "
    "ALTER ANY CONNECTION.",
    9002: "The log of the database is full: back it up, or give it room.",
}
_UNREACHABLE = {
    18456: ("The server refused the user or the password (18456).", False),
    18452: ("The server refused the user (18452).", False),
    18486: ("The user is locked (18486).", False),
    18487: ("The password has expired (18487).", False),
    18488: ("The password must be changed (18488).", False),
    4060: ("The database does not exist, or the user may not open it (4060).", False),
    40615: ("A firewall of the server keeps this address out (40615).", False),
    17142: ("The server takes no connections now (17142).", True),
    40613: ("The database is not available now (40613).", True),
    40197: ("The database is not available now (40197).", True),
}


def trouble_of(error: Exception) -> Trouble | None:
    """Return what an error of pytds means; None if pytds has not understood what it was given."""
    import pytds

    number = number_of(error)
    if number is None and isinstance(error, pytds.DataError):
        return None
    if number is None or number in _GONE:
        return Trouble(code=shown(number), is_gone=True)
    return Trouble(
        code=shown(number),
        is_busy=number in _BUSY,
        has_no_table=number in _NO_TABLE,
        how=_HOW.get(number, ""),
    )


def says_gone(error: Exception) -> bool:
    """Return whether the session that was to be ended had ended by itself."""
    return number_of(error) == _NO_SESSION


def number_of(error: Exception) -> int | None:
    """Return the server's number of an error; None without one."""
    number = getattr(error, "number", None)
    return number if isinstance(number, int) and number else None


def shown(number: int | None) -> str:
    """Return a number as a message has it."""
    return f"Msg {number}" if number else "nothing any more"


def why_not_connected(error: Exception) -> tuple[str, bool]:
    """Say why there is no connection, and whether it may be there later."""
    number = number_of(error)
    return failures.why_not_connected(error, code=number, known=_UNREACHABLE, shown=shown(number))
