"""The answer of a fleet scan for people: the totals first, then the worst."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from holdfast.cli.table import columns
from holdfast.fleet.request import FleetRequest
from holdfast.fleet.rows import FleetFinding, FleetRow, FleetTotals
from holdfast.fleet.run import FleetScan
from holdfast.fleet.values import diagnose_command
from holdfast.judgement.judge import Verdict
from holdfast.wording import count, duration

# How one and how several are counted in the first line; in its order.
_TOTALS = {
    Verdict.SAFE: ("is safe", "are safe"),
    Verdict.REPEATS: ("repeats data", "repeat data"),
    Verdict.LOSES: ("loses data", "lose data"),
    Verdict.ALTERS: ("gives wrong results", "give wrong results"),
    Verdict.FAILS: ("will not start", "will not start"),
    Verdict.NOTHING: ("is empty", "are empty"),
    Verdict.UNKNOWN: ("is not known", "are not known"),
}
_STATE_UNREAD = (
    "is safe except for its state, which was not read",
    "are safe except for their state, which was not read",
)
_SHORT = {
    Verdict.SAFE: "state unread",
    Verdict.REPEATS: "repeats",
    Verdict.LOSES: "loses",
    Verdict.ALTERS: "alters",
    Verdict.FAILS: "fails",
    Verdict.NOTHING: "empty",
    Verdict.UNKNOWN: "not known",
}
_SHOWN = 10
_WIDEST = 100
_MORE_REQUESTS = 5


def render_scan(found: FleetScan, request: FleetRequest, target: Path | None) -> list[str]:
    """Return the lines to show."""
    totals = found.totals
    return [
        _say_totals(totals),
        *_say_state(totals, request),
        *_say_worst(found),
        *_say_findings(found.findings),
        "",
        f"Searched: {count(totals.directories, 'directory')} beside the checkpoints, with "
        f"{count(totals.requests, 'request')} in all. Not checked: the sinks, whether the sources "
        "still have the data, whether drivers are running, the content of state files.",
        *_say_next(found, target),
    ]


def _say_totals(totals: FleetTotals) -> str:
    took = _took(totals.seconds)
    if not totals.checkpoints:
        return f"No checkpoint was found in {took}."
    numbers = {words: totals.verdicts.get(each.value, 0) for each, words in _TOTALS.items()}
    numbers[_TOTALS[Verdict.UNKNOWN]] -= totals.state_unread
    numbers[_STATE_UNREAD] = totals.state_unread
    parts = [f"{number:,} {words[number != 1]}" for words, number in numbers.items() if number]
    said = f"{count(totals.checkpoints, 'checkpoint')} in {took}: {', '.join(parts)}."
    if totals.replaced:
        said += f" {totals.replaced:,} more were replaced by later generations."
    if totals.unchanged:
        said += f" {totals.unchanged:,} had not changed since the earlier scan."
    return said


def _took(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return duration(timedelta(seconds=seconds))


def _say_state(totals: FleetTotals, request: FleetRequest) -> list[str]:
    if not totals.state_unread:
        return []
    more = request.requests * _MORE_REQUESTS
    return [
        f"{request.requests} requests did not reach the state of {totals.state_unread:,}: "
        f"`--requests {more}` reads more, and `holdfast inspect` reads all of one."
    ]


def _say_worst(found: FleetScan) -> list[str]:
    if not found.worst:
        return []
    rows = [
        (
            f"  {_SHORT[row.so_far or row.verdict]}",
            _end_of(row.path),
            row.decided_by or "",
            _said(row),
        )
        for row in found.worst[:_SHOWN]
    ]
    verdicts = found.totals.verdicts
    others = sum(verdicts.values()) - verdicts.get(Verdict.SAFE.value, 0) - len(rows)
    others -= found.totals.state_unread
    more = [f"  and {others:,} more: --format json or --to has all of them"] if others else []
    return ["", "Worst first:", *columns(rows), *more]


def _end_of(path: str) -> str:
    return path if len(path) <= _WIDEST else f"…{path[1 - _WIDEST :]}"


def _said(row: FleetRow) -> str:
    return row.sentence if len(row.sentence) <= _WIDEST else f"{row.sentence[: _WIDEST - 1]}…"


def _say_findings(findings: tuple[FleetFinding, ...]) -> list[str]:
    if not findings:
        return []
    lines = ["", "Across checkpoints:"]
    for each in findings[:_SHOWN]:
        named = f"{each.code} {each.name}" if each.code else each.name
        lines += [f"  {named}: {each.sentence}", f"    {each.what_to_do}"]
        lines += [f"    {place}" for place in each.locations[:3]]
        if each.number > 3:
            lines.append(f"    and {each.number - 3:,} more")
    if len(findings) > _SHOWN:
        lines.append(f"  and {len(findings) - _SHOWN:,} more findings: --format json has them")
    return lines


def _say_next(found: FleetScan, target: Path | None) -> list[str]:
    lines = [] if target is None else [f"Rows: {target}"]
    if found.worst:
        lines.append(f"For details: {diagnose_command(found.worst[0].location)}")
    return lines
