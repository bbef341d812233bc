from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from holdfast.report.timeline import Bar, DriverRow, Line, Page, Section, render_timelines

KINDS = ["completed", "repeated", "skipped", "cut"]
FIRST = DriverRow(
    number=1,
    epoch="3",
    start_seconds=12.4,
    seconds=15.0,
    is_killed=True,
    ending="Killed: the sink had returned.",
    bars=[
        Bar(lane="ids", batch=0, kind="completed", seconds=0.8),
        Bar(lane="ids", batch=1, kind="cut", seconds=0.01),
    ],
)
SECOND = replace(
    FIRST,
    number=2,
    epoch="",
    is_killed=False,
    ending="Ran to its end.",
    bars=[Bar(lane="ids", batch=1, kind="skipped", seconds=0.001)],
)
SECTION = Section(
    title="commits-before",
    moment="the sink has returned",
    verdict="FAIL",
    figures=[1, 0, 1200, 0],
    reason="1,200 duplicated rows",
    drivers=[FIRST, SECOND],
    checks=[
        Line(check="nothing-duplicated", verdict="FAIL", told="1,200 duplicated rows"),
        Line(check="in-order", verdict="NOT_CHECKED", told="no sink has a key"),
    ],
)
PAGE = Page(
    title="app:start",
    verdict="FAIL",
    sentence="In 1 of 1 phases a restart duplicates 1,200 rows.",
    facts=["2026-11-16 09:31 UTC", "Spark 4.2.0", "seed 7"],
    command="holdfast drill run app:start",
    sections=[SECTION],
)


def body(page: Page) -> ET.Element:
    """Return the page as its elements: it must be well formed."""
    text = re.sub(r"<details open>", "<details>", render_timelines(page))
    return ET.fromstring(text[text.index("<body>") : text.index("</body>") + len("</body>")])


def of_class(root: ET.Element, name: str) -> list[ET.Element]:
    return [each for each in root.iter() if name in str(each.get("class")).split()]


def text_of(element: ET.Element) -> str:
    return " ".join("".join(element.itertext()).split())


def test_the_page_says_what_was_drilled_and_what_came_out() -> None:
    page = body(PAGE)
    assert page.findtext("h1") == "Restart drill of app:start"
    assert [each.text for each in of_class(page, "facts")[0]] == list(PAGE.facts)
    assert text_of(of_class(page, "answer")[0]) == f"FAIL {PAGE.sentence}"
    _, row = page.iter("tr")
    assert [text_of(cell) for cell in row] == [
        *("commits-before", "FAIL", "the sink has returned", "1", "0", "1,200", "0")
    ]
    assert "holdfast drill run app:start" in text_of(of_class(page, "note")[-1])


def columns_of(driver: ET.Element) -> list[tuple[str, str, str]]:
    """Return kind, batch and column of every bar."""
    return [
        (str(bar.get("class")).split()[1], str(bar.text), str(bar.get("style")))
        for bar in of_class(driver, "bar")
    ]


def test_a_batch_has_the_same_column_for_every_driver() -> None:
    first, second = of_class(body(PAGE), "driver")
    assert columns_of(first) == [
        ("completed", "0", "grid-column: 2"),
        ("cut", "1", "grid-column: 3"),
    ]
    assert columns_of(second) == [("skipped", "1", "grid-column: 3")]
    assert [text_of(each) for each in of_class(first, "start")] == ["start 12 s"]


def test_a_kill_is_marked_at_its_batch_and_says_what_was_happening() -> None:
    first, second = of_class(body(PAGE), "driver")
    assert [each.get("style") for each in of_class(first, "kill")] == ["grid-column: 3"]
    assert text_of(of_class(first, "said")[0]) == "Killed: the sink had returned."
    assert (of_class(second, "kill"), text_of(of_class(second, "said")[0])) == (
        [],
        "Ran to its end.",
    )
    assert "epoch 3" in text_of(of_class(first, "who")[0])
    assert "epoch" not in text_of(of_class(second, "who")[0])


def test_a_driver_that_died_before_its_first_batch_is_marked_at_its_start() -> None:
    died = replace(SECTION, drivers=[replace(FIRST, bars=[])])
    (kill,) = of_class(body(replace(PAGE, sections=[died])), "kill")
    assert kill.get("style") == "grid-column: 1"


def test_streams_of_one_driver_have_columns_of_their_own() -> None:
    bars = [
        Bar(lane=lane, batch=batch, kind="completed", seconds=1)
        for lane in ("one", "two")
        for batch in (0, 1, 0)
    ]
    drawn = replace(SECTION, drivers=[replace(FIRST, bars=bars)])
    (driver,) = of_class(body(replace(PAGE, sections=[drawn])), "driver")
    columns = [style for _, _, style in columns_of(driver)]
    assert [int(style.split()[-1]) for style in columns] == [2, 4, 3, 5, 7, 6]


def test_the_legend_has_the_colours_of_the_bars() -> None:
    text = render_timelines(PAGE)
    swatches = [str(each.get("class")).split()[1] for each in of_class(body(PAGE), "swatch")]
    assert swatches == ["completed", "skipped", "cut"], "only those that the page has"
    for kind in KINDS:
        assert re.search(rf"^\.{kind} {{ background: ", text, re.MULTILINE)


def test_what_was_not_checked_is_not_said_to_pass() -> None:
    failed, unchecked = of_class(body(PAGE), "checks")[0]
    assert text_of(failed).startswith("FAIL nothing-duplicated")
    assert text_of(unchecked) == "not checked in-order: no sink has a key"


@pytest.mark.parametrize(("count", "size"), [(2, "spacious"), (30, ""), (50, "dense")])
def test_bars_say_as_much_as_there_is_room_for(count: int, size: str) -> None:
    bars = [Bar(lane="", batch=each, kind="completed", seconds=1) for each in range(count)]
    drawn = replace(SECTION, drivers=[replace(FIRST, bars=bars)])
    (section,) = body(replace(PAGE, sections=[drawn])).iter("section")
    assert section.get("class") == size


def open_details(sections: Sequence[Section]) -> int:
    return render_timelines(replace(PAGE, sections=sections)).count("<details open>")


def test_of_many_drills_only_those_that_failed_are_unfolded() -> None:
    passed = replace(SECTION, verdict="PASS")
    assert open_details([passed]) == 1
    assert open_details([*[passed] * 9, SECTION]) == 1


HOSTILE = """</title></svg>"><script>alert('1')</script>"""


def test_no_name_becomes_markup() -> None:
    bar = Bar(lane=HOSTILE, batch=0, kind=HOSTILE, seconds=1)
    driver = replace(FIRST, epoch=HOSTILE, ending=HOSTILE, bars=[bar])
    check = Line(check=HOSTILE, verdict=HOSTILE, told=HOSTILE)
    section = Section(
        title=HOSTILE,
        moment=HOSTILE,
        verdict=HOSTILE,
        figures=[0, 0, 0, 0],
        reason=HOSTILE,
        drivers=[driver],
        checks=[check],
    )
    page = Page(
        title=HOSTILE,
        verdict=HOSTILE,
        sentence=HOSTILE,
        facts=[HOSTILE],
        command=HOSTILE,
        sections=[section],
    )
    text = render_timelines(page)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") == 25, "every value is shown"
    assert body(page).find("h1") is not None


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    text = render_timelines(PAGE)
    assert "default-src 'none'" in text
    assert not re.search(r"<(script|link|img|iframe)|https?:|url\(|@import", text)


def test_a_command_without_a_drill_is_drawn_empty() -> None:
    assert body(replace(PAGE, sections=[])).find("section") is None
