"""What can go wrong while Delta takes a batch: by code, with Delta's own reason."""

from __future__ import annotations

from holdfast.errors import HoldfastError
from holdfast.sinks.table_changed import TableChangedError
from holdfast.spark.errors import condition_of, first_line, java_condition_of

CONFLICT, SAME_APPLICATION = "DELTA_CONCURRENT", "DELTA_CONCURRENT_TRANSACTION"
_MISSING = (
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_PATH_DOES_NOT_EXIST",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_TABLE_ONLY_OPERATION",
    "DELTA_CANNOT_READ_CHANGED_TABLE",
    "TABLE_OR_VIEW_NOT_FOUND",
)
"""What Spark and Delta answer for a table that is not there any more."""


class CommitSkippedError(HoldfastError):
    """Delta left a commit out: something under a higher version had come before it."""

    code = "LEFT_OUT"

    def __init__(self, shown: str, batch_id: int) -> None:
        super().__init__(
            what=f"Batch {batch_id} did not arrive in {shown}.",
            why="Delta left its commit out, and the log does not show by whom it was replaced.",
            how="Start the stream again: Spark runs the batch again, and the ledger decides.",
        )


class DeltaRefusedError(HoldfastError):
    """Delta did not take a batch, and said why; nothing of it was committed."""

    code = "DELTA_REFUSED"

    def __init__(self, shown: str, batch_id: int | None, *, condition: str, said: str) -> None:
        self.condition = condition
        what = f"The stream was not started on {shown}."
        if batch_id is not None:
            what = f"Batch {batch_id} was not written to {shown}."
        super().__init__(
            what=what,
            why=f"Delta answered {condition}: {said}",
            how="Remove the cause, then start the stream again: Spark runs the batch again.",
        )


def is_missing(error: Exception) -> bool:
    """Return whether an error says that the table is not there any more."""
    return (condition_of(error) or java_condition_of(error)).startswith(_MISSING)


def failure_of(error: Exception, shown: str, batch_id: int | None = None) -> HoldfastError | None:
    """Return what an error of Spark says of the table; None if it is about something else.

    Args:
        error: Of Spark.
        shown: The table as people know it.
        batch_id: That was being written; None when it was a start.
    """
    condition = condition_of(error) or java_condition_of(error)
    if is_missing(error) and batch_id is not None:
        return TableChangedError(shown, batch_id, why=f"it was dropped or renamed ({condition})")
    if not condition.startswith(("DELTA_", *_MISSING)):
        return None
    said = first_line(error)
    return DeltaRefusedError(shown, batch_id, condition=condition, said=said)
