"""The table of the checkpoints below a directory, for people: the totals first."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from holdfast.cli.inspect_directory import DirectoryInspection, Summary
from holdfast.cli.table import columns
from holdfast.evidence.checkpoints_below import Found
from holdfast.evidence.outcomes import NextStart, Resumes, RunsAgain, StartsFresh
from holdfast.judgement.judge import Verdict
from holdfast.wording import age, count

_SHOWN_ACTIONS = 10
_WIDEST_SOURCE = 28
_WIDEST_SAID = 56
# What one checkpoint does, and what several do; in the order of the first line.
_TOTALS: dict[Verdict | type[NextStart] | None, tuple[str, str]] = {
    Resumes: ("resumes", "resume"),
    StartsFresh: ("begins with batch 0", "begin with batch 0"),
    RunsAgain: (
        "repeats a batch that its ledger recognises",
        "repeat a batch that their ledgers recognise",
    ),
    Verdict.LOSES: ("loses data", "lose data"),
    Verdict.REPEATS: ("repeats data", "repeat data"),
    Verdict.ALTERS: ("gives wrong results", "give wrong results"),
    Verdict.UNKNOWN: ("is unknown", "are unknown"),
    Verdict.FAILS: ("will not start", "will not start"),
    None: ("could not be read", "could not be read"),
}


def render_directory(found: DirectoryInspection, *, now: datetime) -> list[str]:
    """Return the lines to show."""
    rows: list[tuple[str, ...]] = [
        (" checkpoint", "next start", "last batch", "age", "source"),
        *(_row(each, now) for each in found.rows),
    ]
    return [
        _say_totals(found),
        "",
        *columns(rows),
        *_say_actions(found),
        "",
        f"Searched: {count(found.directories, 'directory')}. Not checked: the sinks, whether the "
        "sources still have the data, whether drivers are running, the content of state files.",
    ]


def _say_totals(found: DirectoryInspection) -> str:
    totals = Counter[Verdict | type[NextStart] | None](
        type(each.next_start) if each.verdict is Verdict.SAFE else each.verdict
        for each in found.judged
    )
    totals[None] = len(found.unread)
    parts = [
        f"{totals[verdict]:,} {words[totals[verdict] != 1]}"
        for verdict, words in _TOTALS.items()
        if totals[verdict]
    ]
    said = f"{count(totals.total(), 'checkpoint')}: {', '.join(parts)}."
    replaced = sum(row.replaced_by is not None for row in found.rows)
    if replaced:
        belong = (
            "belongs to an earlier generation and is",
            "belong to earlier generations and are",
        )
        said += f" {replaced:,} more {belong[replaced != 1]} not started again."
    return said


def _row(row: Found[Summary], now: datetime) -> tuple[str, ...]:
    if row.unread is not None:
        return f" {row.path}", _cut(f"could not be read: {row.unread}", _WIDEST_SAID), "", "", ""
    if row.summary is None:
        said = f"not started again: replaced by generation {row.replaced_by}"
        return f" {row.path}", said, "", "", ""
    each = row.summary
    return (
        f" {row.path}",
        _cut(each.said, _WIDEST_SAID),
        "none" if each.last_batch is None else f"{each.last_batch}",
        "unknown" if each.newest_ms is None else age(each.newest_ms, now),
        _cut("; ".join(each.sources), _WIDEST_SOURCE),
    )


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _say_actions(found: DirectoryInspection) -> list[str]:
    """Say what to do about the first of those that do not pass, each with its whole reason."""
    rows = [
        row
        for row in found.rows
        if row.summary is not None and row.summary.verdict is not Verdict.SAFE
    ]
    rows = [*found.unread, *rows]
    if not rows:
        return []
    lines = ["", "What to do:"]
    for row in rows[:_SHOWN_ACTIONS]:
        if row.summary is None:
            lines += [f"  {row.path}: {row.unread}", f"    {row.remedy}"]
        else:
            lines += [f"  {row.path}: {row.summary.said}", f"    {row.summary.what_to_do}"]
    if len(rows) > _SHOWN_ACTIONS:
        lines.append(f"  and {len(rows) - _SHOWN_ACTIONS:,} more: --format json has all of them")
    return [*lines, f"For details: holdfast inspect {rows[0].location}"]
