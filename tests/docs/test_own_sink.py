"""The sink on the page is the one that is tested and drilled."""

from __future__ import annotations

from tests.house.repository import ROOT

PAGE = ROOT / "docs/guides/your-own-sink.md"


def test_the_class_on_the_page_is_the_one_that_is_tested() -> None:
    source = (ROOT / "tests/kinds/sqlite_sink.py").read_text()
    shown = PAGE.read_text().split("```python\n")[1].split("```")[0]
    assert shown in source
