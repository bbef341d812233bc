"""The page of a scan: what is on it, in which order, and that nothing in a row becomes HTML."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import split
from typing import Any

import pytest
from click.testing import CliRunner

from holdfast.cli.main import holdfast
from holdfast.fleet.compare import compare_scans
from holdfast.fleet.files import write_rows
from holdfast.fleet.rows import FleetRow
from holdfast.judgement.judge import Verdict
from holdfast.printable import printable
from holdfast.report.fleet_page import Changes, render_fleet
from holdfast.report.fleet_rows import SHOWN, build, changes_of

AT_MS = 1_763_470_000_000


def row(path: str, verdict: Verdict = Verdict.SAFE, **given: Any) -> FleetRow:
    values: dict[str, Any] = {
        "location": f"s3://lake/cp/{path}",
        "path": path,
        "owner": path.partition("/")[0],
        "verdict": verdict,
        "sentence": "Safe to restart",
        "judged_ms": AT_MS,
        "seen_ms": AT_MS,
    }
    return FleetRow(**(values | given))


FLEET = (
    row("a/one"),
    row("a/two", Verdict.REPEATS, sentence="repeats data (HF301): batch 7", decided_by="HF301"),
    row("b/three", Verdict.LOSES, newest_batch=1_204, is_pending=True, newest_ms=AT_MS - 60_000),
    row("b/four", Verdict.FAILS, replaced_by=2),
    row("c/five", writes_per_hour=1_200.0, files=90, size_bytes=4_096),
)


def test_the_worst_comes_first_and_replaced_ones_are_left_out() -> None:
    page = build(FLEET).page(title="Streams")
    assert page.answer == "2 of 4 checkpoints need attention before a restart."
    assert [each.path for each in page.entries] == ["b/three", "a/two"]
    assert [(each.word, each.number) for each in page.shares if each.number] == (
        [("loses data", 1), ("repeats data", 1), ("safe", 2)]
    )
    assert [(each.name, each.unsafe, each.number) for each in page.owners] == (
        [("a", 1, 2), ("b", 1, 1)]
    )
    assert page.other_owners == 1


def test_an_entry_has_its_facts_its_commands_and_a_text_for_a_ticket() -> None:
    loses, repeats = build(FLEET).page(title="Streams").entries
    assert list(loses.facts) == ["batch 1,204 pending", "planned 1 min ago"]
    assert repeats.sentence == "batch 7."
    assert repeats.explain == "holdfast rules explain HF301"
    assert repeats.ticket.splitlines() == [
        "```",
        "s3://lake/cp/a/two: repeats data",
        "batch 7.",
        "Look closer: holdfast diagnose s3://lake/cp/a/two",
        "```",
    ]


@pytest.mark.parametrize("name", ["$(touch x)", "a; touch x", "`touch x`", "it's", "a\nb", "a b"])
def test_a_command_runs_nothing_that_a_name_holds(name: str) -> None:
    (entry,) = build([row(name, Verdict.FAILS)]).page(title="Streams").entries
    shown = f"s3://lake/cp/{printable(name)}"
    assert split(entry.command) == ["holdfast", "diagnose", shown]
    (line,) = (each for each in entry.ticket.splitlines() if each.startswith("Look closer: "))
    assert split(line)[2:] == ["holdfast", "diagnose", shown]


def test_a_name_cannot_leave_the_block_of_a_ticket() -> None:
    hostile = row("````\n[x](javascript:y) @all", Verdict.FAILS, sentence="`````")
    (entry,) = build([hostile]).page(title="Streams").entries
    first, *lines, last = entry.ticket.splitlines()
    assert first == last == "`" * 6
    assert not any("`" * 6 in line for line in lines)


def test_a_fleet_that_is_safe_says_so() -> None:
    page = build([row("a/one"), row("a/two")]).page(title="Streams")
    answer = "Nothing was found in 2 checkpoints that speaks against a restart."
    assert (page.is_bad, page.answer) == (False, answer)
    assert "Nothing was found." in render_fleet(page)


def test_state_that_was_not_read_is_not_shown_as_fine() -> None:
    unread = row("a/one", Verdict.UNKNOWN, so_far=Verdict.SAFE)
    page = build([unread, row("a/two")]).page(title="Streams")
    assert (page.is_bad, page.answer) == (
        True,
        "Nothing was found in 2 checkpoints that speaks against a restart."
        " Of 1, the state was not read.",
    )
    assert [(each.word, each.number) for each in page.shares if each.number] == (
        [("not known", 1), ("safe", 1)]
    )
    assert (list(page.entries), page.left_out) == ([], 0)


def test_a_scan_without_checkpoints_is_not_shown_as_fine() -> None:
    page = build([]).page(title="Streams")
    assert (page.is_bad, page.answer) == (True, "The scan found no checkpoint.")


def test_what_is_left_out_is_counted() -> None:
    rows = (row(f"a/{number:05}", Verdict.FAILS) for number in range(3 * SHOWN))
    page = build(rows).page(title="Streams")
    assert (len(page.entries), page.left_out) == (SHOWN, 2 * SHOWN)
    assert page.entries[0].path == "a/00000"


@pytest.mark.parametrize("hostile", ["<script>alert(1)</script>", "x' onload='y", "\x1b[2Jx"])
def test_nothing_in_a_row_becomes_html(hostile: str) -> None:
    bad = row(
        f"team/{hostile}",
        Verdict.FAILS,
        sentence=hostile,
        what_to_do=hostile,
        sources=(hostile,),
        not_read=(hostile,),
        owner=hostile,
    )
    shown = render_fleet(build([bad]).page(title=hostile))
    assert "<script" not in shown
    assert "\x1b" not in shown
    assert not re.search(r"<[^>]*onload", shown)


def test_a_secret_in_a_location_is_not_on_the_page() -> None:
    location = "postgresql://reader:hunter2@host/lake"
    bad = row("a/one", Verdict.FAILS, location=location, sentence=f"{location} is gone")
    assert "hunter2" not in render_fleet(build([bad]).page(title="Streams"))


def test_changes_are_shown_above_what_needs_attention() -> None:
    changes = [Changes(title="Newly unsafe", lines=["a/two: repeats data"], more=3)]
    shown = render_fleet(build(FLEET).page(title="Streams", changes=changes))
    assert 0 < shown.index("Newly unsafe") < shown.index("What needs attention")
    assert "and 3 more" in shown
    assert "Since the last scan" not in render_fleet(build(FLEET).page(title="Streams"))


def test_what_changed_is_grouped_and_what_got_worse_comes_first() -> None:
    before = [row("a/one"), row("a/two"), row("a/gone")]
    found = changes_of(compare_scans(before, FLEET[:3]))
    assert [each.title for each in found] == ["Newly unsafe: 2", "Gone: 1", "New: 1"]
    assert found[1].lines == ["s3://lake/cp/a/gone: it was there before"]


def test_the_command_writes_the_page_of_the_newest_scan(tmp_path: Path) -> None:
    for _ in write_rows(tmp_path / "fleet-1.jsonl", FLEET):
        pass
    page = tmp_path / "report.html"
    ended = CliRunner().invoke(holdfast, ["fleet", "report", str(tmp_path), "-o", str(page)])
    assert ended.output.startswith("2 of 4 checkpoints need attention before a restart.\n")
    assert "b/three" in page.read_text()
    ended = CliRunner().invoke(
        holdfast, ["fleet", "report", str(tmp_path), "-o", str(tmp_path / "no/where.html")]
    )
    assert ended.exit_code != 0
