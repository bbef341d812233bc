"""What a ledger says of a plan before it is applied, when its sink cannot move rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.ledger.output import CannotSettleError, EmptyOutput, KeepOutput, Output
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import LedgerStore
from tests.ledger_rows import ROW


class RowOnly(LedgerStore):
    """A ledger of a sink that keeps a row and cannot take rows away."""

    def __init__(self) -> None:
        self.row: LedgerRow | None = ROW

    def label(self, stream: str) -> str:
        del stream
        return "gold"

    def read(self, stream: str) -> LedgerRow | None:
        del stream
        return self.row

    def examine(self, row: LedgerRow) -> str | None:
        del row
        return None

    def fence(self, row: LedgerRow, *, epoch: int, nonce: str) -> LedgerRow | None:
        return replace(row, epoch=epoch, nonce=nonce)

    def replace(self, old: LedgerRow | None, new: LedgerRow) -> bool:
        is_it = old == self.row
        self.row = new if is_it else self.row
        return is_it

    def close(self) -> None:
        """Hold nothing open."""


class Settles(RowOnly):
    """A ledger of a sink that can."""

    def settle(
        self, old: LedgerRow | None, new: LedgerRow, output: Output, *, seen: str | None = None
    ) -> bool:
        del output, seen
        return self.replace(old, new)


EMPTY, KEEP = EmptyOutput(kept="holdfast.kept_one"), KeepOutput()
NEW = replace(ROW, generation=2, epoch=2, nonce="n2")


def test_a_sink_that_cannot_move_rows_says_so_before_the_plan_and_during_it() -> None:
    ledger = RowOnly()
    said = "gold cannot take rows away and put them back."
    assert ledger.find_obstacle(NEW, EMPTY) == said
    with pytest.raises(CannotSettleError) as refused:
        ledger.settle(ROW, NEW, EMPTY)
    assert (refused.value.why, ledger.row) == (said, ROW)
    assert ledger.find_obstacle(NEW, KEEP) is None
    assert ledger.settle(ROW, NEW, KEEP)
    assert ledger.row == NEW


def test_a_sink_that_moves_rows_itself_has_no_obstacle_here() -> None:
    assert Settles().find_obstacle(NEW, EMPTY) is None
