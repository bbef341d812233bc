"""What becomes of a sink's rows when its ledger row is set by a plan."""

from __future__ import annotations

import msgspec

from holdfast.errors import HoldfastError


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


Output = KeepOutput | EmptyOutput | RestoreOutput


class CannotSettleError(HoldfastError):
    """A sink cannot be brought to a state that a plan names."""

    code = "CANNOT_SETTLE"

    def __init__(self, shown: str, why: str) -> None:
        super().__init__(
            what=f"{shown} was not changed.",
            why=why,
            how="Plan with --output keep-from-here, or bring the sink to that state by hand.",
        )
