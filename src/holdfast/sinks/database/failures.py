"""What can go wrong while a database takes a batch: by code, with the server's own number.

The text of a driver's error is not shown: MariaDB's quotes values of rows, and the user's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from holdfast.errors import HoldfastError

Code = TypeVar("Code", int, str)


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """What an error of a driver means."""

    code: str
    """As the server has it: `1062 DUP_ENTRY`."""
    is_gone: bool = False
    """Whether the session ended, so that only the ledger knows what became of its batch."""
    is_busy: bool = False
    """Whether the server took everything back because of others, and the same can be tried."""
    has_no_table: bool = False
    """Whether a table that was named does not exist."""
    how: str = ""
    """What to do about it; empty if nothing special is known."""


def why_not_connected(
    error: Exception, *, code: Code | None, known: Mapping[Code, tuple[str, bool]], shown: str
) -> tuple[str, bool]:
    """Say why there is no connection, and whether it may be there later.

    Args:
        error: What the driver raised.
        code: What the server said; None if it said nothing.
        known: Of codes, both answers.
        shown: The code as a message has it.
    """
    if code is not None and code in known:
        return known[code]
    if isinstance(error, OSError) and code is None:
        return "The server cannot be reached over the network.", True
    return f"The connection failed ({shown}).", False


class DatabaseRefusedError(HoldfastError):
    """A database refused something, and said why; nothing was committed."""

    code = "DATABASE_REFUSED"

    def __init__(self, shown: str, batch_id: int | None, trouble: Trouble) -> None:
        self.answer = trouble.code
        self.has_no_table = trouble.has_no_table
        self.retryable = trouble.is_busy
        super().__init__(
            what=f"The stream was not started on {shown}."
            if batch_id is None
            else f"Batch {batch_id} was not written to {shown}.",
            why=f"The database answered {trouble.code}.",
            how=trouble.how or "Remove the cause, then start the stream again.",
        )


class DatabaseAwayError(HoldfastError):
    """There is no connection to a database."""

    code = "DATABASE_AWAY"

    def __init__(self, name: str, *, why: str, retryable: bool = False) -> None:
        self.name = name
        """Of the secret that holds the URL: `env:SERVING_URL`."""
        self.retryable = retryable
        how = f"Check the URL ({name}); no part of it is shown here."
        if retryable:
            how = "Start the stream again once the server accepts connections."
        super().__init__(
            what=f"Cannot connect to the database with the URL of {name}.", why=why, how=how
        )


class InexactRowsError(HoldfastError):
    """The table kept other rows than it was given; nothing of the batch was committed."""

    code = "ROWS_CHANGED"

    def __init__(self, shown: str, batch_id: int, *, why: str) -> None:
        super().__init__(
            what=f"Batch {batch_id} was not written to {shown}.",
            why=why,
            how="Look at the table's triggers and constraints, or filter these rows in the query; "
            "then start the stream again.",
        )


class TableTooLargeError(HoldfastError):
    """A table has more rows than the driver may hold, so they cannot be compared."""

    code = "TABLE_TOO_LARGE"

    def __init__(self, shown: str, *, most: int) -> None:
        super().__init__(
            what=f"What {shown} holds cannot be read.",
            why=f"Its values have more than {most:,} bytes, and the driver reads all of them.",
            how="Raise spark.holdfast.driverBatchBytes and the memory of the driver, or compare a "
            "table with fewer rows.",
        )


class LedgerTableError(HoldfastError):
    """The ledger's table is not there, not ours to use, or of another version."""

    code = "DATABASE_LEDGER"

    def __init__(self, *, why: str, how: str) -> None:
        super().__init__(what="The ledger in the database cannot be used.", why=why, how=how)
