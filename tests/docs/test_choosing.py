"""Every kind of sink that people can choose has its row on the page, and a guide that is there."""

from __future__ import annotations

import pytest

from docsite.sinks import public_kinds, sinks_table
from holdfast.sinks.sink import SinkSpec
from tests.house.repository import ROOT

KINDS = dict(public_kinds())


@pytest.mark.parametrize("name", KINDS)
def test_a_public_kind_declares_its_own_row(name: str) -> None:
    kind: type[SinkSpec] = KINDS[name]
    said = vars(kind).get("choosing")
    assert said is not None, f"hf.{name} needs `choosing`, its row on the page Choosing a sink"
    assert (ROOT / "docs/guides" / said.page.partition("#")[0]).is_file()
    for words in ("guarantee", "needs"):
        assert sum(f"`hf.{name}`" in row for row in sinks_table([words])) == 1


def test_no_cell_breaks_the_table() -> None:
    for words in ("guarantee", "needs"):
        head, *rows = sinks_table([words])
        assert {row.count("|") for row in rows} == {head.count("|")}
