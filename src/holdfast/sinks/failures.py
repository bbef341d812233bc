"""What any sink says of a table, a batch or a value that it does not take."""

from __future__ import annotations

from holdfast.errors import HoldfastError


class TableError(HoldfastError):
    """The table does not take what the stream brings; nothing was written."""

    code = "TABLE"

    def __init__(self, table: str, *, why: str, sql: str) -> None:
        self.table = table
        self.sql = sql
        super().__init__(
            what=f"The table {table} does not take this stream; nothing was written.",
            why=why,
            how=f"To fix the table, run:  {sql}",
        )


class ValueRefusedError(HoldfastError):
    """A value of a batch would be changed by the table; nothing of the batch was committed."""

    code = "VALUE_REFUSED"

    def __init__(self, shown: str, batch_id: int, *, column: str, why: str) -> None:
        self.column = column
        super().__init__(
            what=f"Batch {batch_id} was not written to {shown}.",
            why=f"In the column {column} {why}.",
            how="Change the column's type, or the value in the query; then start it again.",
        )


class UnmergeableRowsError(HoldfastError):
    """Rows of a batch cannot be merged by their keys; nothing was committed."""

    code = "UNMERGEABLE_ROWS"

    def __init__(self, shown: str, *, why: str) -> None:
        super().__init__(
            what=f"A batch was not written to {shown}.",
            why=why,
            how="Filter or correct these rows in the query, then start the stream again.",
        )


class LostAnswerError(HoldfastError):
    """The connection broke while a batch was written: it is not there, or cannot be asked for."""

    code = "LOST_ANSWER"
    retryable = True

    def __init__(self, shown: str, batch_id: int, *, arrived: bool | None) -> None:
        known = "did not arrive in" if arrived is False else "may or may not be in"
        asked = "has no such batch" if arrived is False else "cannot be read"
        super().__init__(
            what=f"Batch {batch_id} {known} {shown}.",
            why=f"The connection broke while it was written, and the ledger {asked}.",
            how="Start the stream again: Spark runs the batch again, and the ledger decides.",
        )
