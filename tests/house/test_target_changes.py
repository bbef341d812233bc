"""The page of the target changes says what the cells declare, and every cell says something."""

from __future__ import annotations

import pytest

from campaigns.target_changes.cells import Cell, is_harmless
from campaigns.target_changes.matrix import CELLS, KINDS
from campaigns.target_changes.report import page_of
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/reference/target-changes.md").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_has_the_table_as_it_is_printed(kind: str) -> None:
    printed = "\n".join(page_of(kind, [(cell, cell.verdict) for cell in CELLS]))
    assert printed in PAGE


def test_every_cell_has_a_name_of_its_own() -> None:
    assert len({cell.name for cell in CELLS}) == len(CELLS)


@pytest.mark.parametrize("cell", CELLS, ids=[cell.name for cell in CELLS])
def test_a_cell_declares_a_verdict(cell: Cell) -> None:
    assert cell.expected
    assert ("another writer" in cell.verdict) <= (not is_harmless(cell.change))
