"""The sink on the page is the one that is tested; its table has what the kinds declare."""

from __future__ import annotations

from docsite.sinks import public_kinds
from holdfast.sinks.sink import Capability
from tests.house.repository import ROOT

PAGE = ROOT / "docs/guides/your-own-sink.md"
SHOWN = (Capability.SETTLE, Capability.VERSIONS, Capability.CONTENTS)
ANSWERS = {True: "yes", False: "no"}


def test_the_class_on_the_page_is_the_one_that_is_tested() -> None:
    source = (ROOT / "tests/kinds/sqlite_sink.py").read_text()
    shown = PAGE.read_text().split("```python\n")[1].split("```")[0]
    assert shown in source


def test_the_page_has_the_capabilities_that_each_kind_declares() -> None:
    declared = {
        f"| `hf.{name}` | "
        + " | ".join(ANSWERS[each in kind.capabilities] for each in SHOWN)
        + " |"
        for name, kind in public_kinds()
        if kind.capabilities
    }
    table = PAGE.read_text().split("| sink | `settle` | `versions` | `contents` |\n")[1]
    rows = table.split("\n\n")[0].splitlines()[1:]
    assert rows == sorted(declared)
