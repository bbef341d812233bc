"""What can go wrong while Iceberg takes a batch: by code, with Iceberg's own reason."""

from __future__ import annotations

from holdfast.errors import HoldfastError
from holdfast.sinks.table_changed import TableChangedError
from holdfast.spark.errors import condition_of, first_line, java_names

_GONE = ("NoSuchTableException", "NoSuchNamespaceException")
_NO_TABLE = "TABLE_OR_VIEW_NOT_FOUND"
_CONFLICTS = {
    "CommitFailedException",
    "CommitStateUnknownException",
    "ValidationException",
    "CherrypickAncestorCommitException",
}
"""What Iceberg raises when somebody else was faster, or when it does not know who was."""


class IcebergTableError(HoldfastError):
    """An Iceberg table does not take what the stream brings; no rows were written."""

    code = "ICEBERG_TABLE"

    def __init__(self, display_name: str, *, why: str, how: str) -> None:
        self.display_name = display_name
        what = f"{display_name} does not take this stream; nothing was written."
        super().__init__(what=what, why=why, how=how)


class IcebergRefusedError(HoldfastError):
    """Iceberg did not take a commit, or did not say what became of it."""

    code = "ICEBERG_REFUSED"

    def __init__(self, shown: str, batch_id: int | None, *, said: str) -> None:
        what = f"{shown} was not changed, as far as is known."
        if batch_id is not None:
            what = f"Batch {batch_id} was not written to {shown}, as far as is known."
        super().__init__(
            what=what,
            why=f"Iceberg answered: {said}",
            how="Remove the cause and start again: the ledger in the table says what arrived.",
        )


class CatalogError(HoldfastError):
    """A catalog was asked without Spark which metadata is current, and did not tell."""

    code = "ICEBERG_CATALOG"

    def __init__(self, name: str, *, why: str) -> None:
        self.name = name
        """Of the secret that holds its address: `env:LAKE_CATALOG`."""
        super().__init__(
            what=f"The Iceberg catalog of {name} did not say what a table is.",
            why=why,
            how=f"Check the address ({name}), no part of which is shown here, and the options of "
            "the store.",
        )


def is_conflict(error: BaseException) -> bool:
    """Return whether the same batch can be tried again at once, once the ledger was read."""
    return not _CONFLICTS.isdisjoint(java_names(error))


def is_missing(error: BaseException) -> bool:
    """Return whether the table is not there."""
    if not set(_GONE).isdisjoint(java_names(error)):
        return True
    return condition_of(error).startswith(_NO_TABLE)


def failure_of(error: BaseException, shown: str, batch_id: int | None = None) -> HoldfastError:
    """Return what an error of Iceberg says of the table.

    Args:
        error: What the call raised.
        shown: The table as people know it.
        batch_id: That was being written; None when it was a start or a plan.
    """
    if is_missing(error) and batch_id is not None:
        return TableChangedError(shown, batch_id, why="it was dropped or renamed")
    return IcebergRefusedError(shown, batch_id, said=first_line(error))
