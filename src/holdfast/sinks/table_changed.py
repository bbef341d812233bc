"""The error of every sink whose table was changed while a stream runs."""

from __future__ import annotations

from holdfast.errors import HoldfastError


class TableChangedError(HoldfastError):
    """The table is not the one that the ledger row was written into, or has another shape."""

    code = "TABLE_CHANGED"

    def __init__(self, shown: str, batch_id: int, *, why: str, is_committed: bool = False) -> None:
        what = f"Batch {batch_id} was not written to {shown}."
        if is_committed:
            what = f"It is not certain that batch {batch_id} is in {shown}."
        super().__init__(
            what=what,
            why=f"The table changed while the stream was running: {why}.",
            how="Start the stream again: the start checks the table and says what can be done.",
        )
