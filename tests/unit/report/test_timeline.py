from __future__ import annotations

import xml.etree.ElementTree as ET

from holdfast.report.timeline import Bar, Life, Line, Section, render_timelines

LIFE = Life(
    shown="run 1",
    began=10.0,
    ended=20.0,
    epoch="3",
    killed_at="before:commits/0:1",
    how="signal SIGKILL",
    bars=[Bar(began=12.0, ended=13.0, shown="batch 0, applied", kind="applied")],
)


def drawn(*sections: Section) -> ET.Element:
    """Return the page as its elements: it must be well formed."""
    page = render_timelines("app:start", sections).replace("&nbsp;", " ")
    body = page[page.index("<body>") : page.index("</body>") + len("</body>")]
    return ET.fromstring(body)


def test_a_life_is_drawn_with_its_batches_and_its_death() -> None:
    page = drawn(Section(title="some", lives=[LIFE], checks=[]))
    rects = {each.get("class") for each in page.iter("rect")}
    assert rects == {"life", "applied"}
    assert len([each for each in page.iter("line") if each.get("class") == "kill"]) == 2
    texts = [each.text for each in page.iter("text")]
    assert {"run 1", "before:commits/0:1", "epoch 3"} <= set(texts)


def test_names_cannot_become_markup() -> None:
    hostile = "</svg><script>alert(1)</script>"
    check = Line(check=hostile, verdict="PASS", told=hostile)
    text = render_timelines(hostile, [Section(title=hostile, lives=[LIFE], checks=[check])])
    assert "<script>" not in text
    assert "default-src 'none'" in text


def test_a_drill_without_a_run_is_drawn_empty() -> None:
    assert drawn(Section(title="none", lives=[], checks=[])).find("svg") is not None
