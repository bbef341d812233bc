"""What becomes of a sink's rows when its ledger row is set by a plan."""

from __future__ import annotations

import re

import msgspec

from holdfast.errors import HoldfastError

COPY = "holdfast.kept_"
"""How the name of a copy begins: of rows that a plan took away."""
_COPY_NAME = re.compile(rf"{re.escape(COPY)}[0-9a-z_]{{1,50}}")


def is_copy(name: str) -> bool:
    """Return whether a name can be that of a copy: a plan is input from anybody, and names one."""
    return _COPY_NAME.fullmatch(name) is not None


class KeepOutput(msgspec.Struct, frozen=True, kw_only=True, tag="keep", tag_field="output"):
    """The rows of the sink stay as they are."""


class EmptyOutput(msgspec.Struct, frozen=True, kw_only=True, tag="empty", tag_field="output"):
    """The rows of the sink are taken away; they are kept under a name."""

    kept: str
    """A table's name in PostgreSQL; the version of a Delta table."""


class RestoreOutput(msgspec.Struct, frozen=True, kw_only=True, tag="restore", tag_field="output"):
    """The sink gets the rows that were kept under a name."""

    kept: str
    aside: str
    """The name under which the rows are kept that it takes the place of."""


class ExchangeOutput(msgspec.Struct, frozen=True, kw_only=True, tag="exchange", tag_field="output"):
    """The sink loses the rows that one generation of the stream wrote, and gets kept rows back.

    Rows of other writers stay. This is what an undo does to a sink.
    """

    generation: int
    """Whose rows are taken away: those of its batches, and those that its opening put back."""
    kept: str | None
    """Where the rows are that come back; None if none do."""
    aside: str
    """The name under which the rows are kept that are taken away."""
    rows: int | None
    """How many rows are taken away, as the plan counted them; None if the sink cannot count."""


Output = KeepOutput | EmptyOutput | RestoreOutput | ExchangeOutput


class CannotSettleError(HoldfastError):
    """A sink cannot be brought to a state that a plan names."""

    code = "CANNOT_SETTLE"

    def __init__(self, shown: str, why: str) -> None:
        super().__init__(
            what=f"{shown} was not changed.",
            why=why,
            how="Remove the cause and make the plan again; a reset can also be planned with "
            "--output keep-from-here or new-table.",
        )
