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
    page = render_timelines("app:start", sections)
    body = page[page.index("<body>") : page.index("</body>") + len("</body>")]
    return ET.fromstring(body)


def test_a_life_is_drawn_with_its_batches_and_its_death() -> None:
    page = drawn(Section(title="some", lives=[LIFE], checks=[]))
    rects = {each.get("class") for each in page.iter("rect")}
    assert rects == {"life", "applied"}
    assert len([each for each in page.iter("line") if each.get("class") == "kill"]) == 2
    texts = [each.text for each in page.iter("text")]
    assert {"run 1", "before:commits/0:1", "epoch 3"} <= set(texts)


HOSTILE = """</title></svg>"><script>alert('1')</script>"""


def test_no_name_becomes_markup() -> None:
    bar = Bar(began=0.0, ended=1.0, shown=HOSTILE, kind=HOSTILE)
    lives = [
        Life(
            shown=HOSTILE, began=0, ended=1, epoch=HOSTILE, killed_at=each, how=HOSTILE, bars=[bar]
        )
        for each in (HOSTILE, None)
    ]
    check = Line(check=HOSTILE, verdict=HOSTILE, told=HOSTILE)
    section = Section(title=HOSTILE, lives=lives, checks=[check])
    text = render_timelines(HOSTILE, [section])
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 17, "every value is shown"
    assert "default-src 'none'" in text
    page = drawn(section)
    assert [each.get("class") for each in page.iter("rect")] == ["life", HOSTILE] * 2


def test_a_drill_without_a_run_is_drawn_empty() -> None:
    assert drawn(Section(title="none", lives=[], checks=[])).find("svg") is not None
