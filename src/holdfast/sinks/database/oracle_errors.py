"""What the errors of Oracle and of its driver mean, by their codes; their texts are not shown."""

from __future__ import annotations

from holdfast.sinks.database import failures
from holdfast.sinks.database.failures import Trouble

_GONE = frozenset(
    f"ORA-{number:05}"
    for number in (
        *(28, 600, 603, 1012, 1033, 1034, 1041, 1089, 1090, 1092, 2396, 2399, 3113, 3114, 3135),
        *(7445, 12153, 12514, 12528, 12537, 12541, 12547, 12570, 12571, 12583, 25402, 25408),
    )
)
"""Codes of sessions that end: a kill, a shutdown, a connection that broke, a failover."""
_BUSY = frozenset({"ORA-00054", "ORA-00060", "ORA-02049", "ORA-04021", "ORA-08177", "ORA-30006"})
"""Somebody else was first: everything is taken back, and the same can be tried again."""
_NO_TABLE = frozenset({"ORA-00942"})
_NO_SESSION = frozenset({"ORA-00030", "ORA-00031"})
"""The session that was to be ended is gone, or ends as soon as it can."""
_NO_RIGHT = (
    "Grant this user what the page of this sink lists; to end a paused driver it needs "
    "ALTER SYSTEM and SELECT on GV_$LOCK and GV_$SESSION."
)
_HOW = {
    "ORA-00001": "Two rows have one value of a unique index: filter them in the query. A stream "
    "that appends can merge them instead: keys=.",
    "ORA-00903": "Set PRIVATE_TEMP_TABLE_PREFIX to its default, ORA$PTT_.",
    "ORA-00942": _NO_RIGHT,
    "ORA-01031": _NO_RIGHT,
    "ORA-01536": "Raise the quota of this user on its tablespace.",
    "ORA-01653": "Give the tablespace of the table room.",
    "ORA-06550": "Grant this user EXECUTE on DBMS_LOCK.",
    "ORA-16000": "The database is read-only: name the primary in the URL.",
}
_UNREACHABLE = {
    "ORA-01017": ("The server refused the user or the password (ORA-01017).", False),
    "ORA-28000": ("The user is locked (ORA-28000).", False),
    "ORA-28001": ("The password has expired (ORA-28001).", False),
    "ORA-01045": ("The user lacks CREATE SESSION (ORA-01045).", False),
    "ORA-01033": ("The database is starting or shutting down (ORA-01033).", True),
    "ORA-01034": ("The database is not available (ORA-01034).", True),
    "ORA-12514": ("The listener does not know this service now (ORA-12514).", True),
    "DPY-6001": ("The listener does not know this service now (DPY-6001).", True),
    "DPY-6005": ("No server answers at that host and port (DPY-6005).", True),
}


def trouble_of(error: Exception) -> Trouble | None:
    """Return what an error means; None if the driver has not understood what it was given.

    What the driver itself says of a connection (DPY-1001, DPY-4011, DPY-4024 and 6000 and more)
    leaves open what became of a COMMIT, so the ledger is asked.
    """
    code = code_of(error)
    if code in _GONE or not code or _is_about_connection(code):
        return Trouble(code=code or "nothing any more", is_gone=True)
    if not code.startswith("ORA-"):
        return None
    return Trouble(
        code=code,
        is_busy=code in _BUSY,
        has_no_table=code in _NO_TABLE,
        how=_HOW.get(code, ""),
    )


def _is_about_connection(code: str) -> bool:
    prefix, _, number = code.partition("-")
    return prefix == "DPY" and (number in ("1001", "4011", "4024") or number.startswith("6"))


def says_gone(error: Exception) -> bool:
    """Return whether the session that was to be ended has ended, or will."""
    return code_of(error) in _NO_SESSION


def code_of(error: Exception) -> str:
    """Return the complete code of an error; empty without one."""
    first = error.args[0] if error.args else None
    return str(getattr(first, "full_code", "") or "")


def why_not_connected(error: Exception) -> tuple[str, bool]:
    """Say why there is no connection, and whether it may be there later."""
    code = code_of(error) or None
    shown = code or "without a code"
    return failures.why_not_connected(error, code=code, known=_UNREACHABLE, shown=shown)
