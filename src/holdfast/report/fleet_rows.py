"""Turns the rows of a scan into the page of `fleet report`."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import nlargest, nsmallest

from holdfast.fleet.across import AcrossCheckpoints
from holdfast.fleet.compare import ChangeKind, FleetDiff
from holdfast.fleet.rows import FleetFinding, FleetRow
from holdfast.fleet.values import diagnose_command
from holdfast.judgement.judge import ATTENTION, Verdict
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.report.fleet_page import Across, Busy, Changes, Entry, FleetPage, Owner, Share
from holdfast.wording import ago, count, moment, size

SHOWN = 200
"""Checkpoints that a page shows in full, the worst ones."""
BUSIEST = 20
OWNERS = 50
CHANGES = 10
"""Of each kind."""
WORDS = {
    Verdict.LOSES: "loses data",
    Verdict.FAILS: "will not start",
    Verdict.ALTERS: "gives wrong results",
    Verdict.UNKNOWN: "not known",
    Verdict.REPEATS: "repeats data",
    Verdict.NOTHING: "empty",
    Verdict.SAFE: "safe",
}
_SEVERAL = {
    Verdict.LOSES: "lose data",
    Verdict.ALTERS: "give wrong results",
    Verdict.REPEATS: "repeat data",
}
_NOT_CHECKED = (
    "A fleet scan reads the newest log entries of each checkpoint and what a listing shows. Not "
    "checked: the sinks, whether the sources still have the data, whether drivers are running, the "
    "content of state files. `holdfast diagnose` looks at one stream in full. Nothing was changed."
)


@dataclass(slots=True)
class PageBuilder:
    """Takes rows one by one; what it keeps does not grow with safe checkpoints."""

    across: AcrossCheckpoints = field(default_factory=AcrossCheckpoints)
    _verdicts: Counter[Verdict] = field(default_factory=Counter)
    _owners: dict[str, Counter[Verdict]] = field(default_factory=lambda: defaultdict(Counter))
    _worst: list[FleetRow] = field(default_factory=list)
    _busy: list[FleetRow] = field(default_factory=list)
    _seen_ms: int = 0
    _state_unread: int = 0

    def add(self, row: FleetRow) -> None:
        """Take one row; what a later generation has replaced is left out."""
        self._seen_ms = max(self._seen_ms, row.seen_ms)
        if not row.is_current:
            return
        self.across.add(row)
        verdict = _verdict(row)
        self._verdicts[verdict] += 1
        if row.owner is not None:
            self._owners[row.owner][verdict] += 1
        self._state_unread += row.is_state_unread
        if verdict is not Verdict.SAFE and not row.is_state_unread:
            self._worst.append(row)
            if len(self._worst) > 2 * SHOWN:
                self._worst = nsmallest(SHOWN, self._worst, key=_urgency)
        if row.writes_per_hour:
            self._busy = nlargest(BUSIEST, [*self._busy, row], key=_writes)

    def page(self, *, title: str, changes: Sequence[Changes] | None = None) -> FleetPage:
        """Return everything that the page shows.

        Args:
            title: What was scanned.
            changes: Since an earlier scan; None without one.
        """
        total, safe = self._verdicts.total(), self._verdicts[Verdict.SAFE]
        worst = nsmallest(SHOWN, self._worst, key=_urgency)
        owners = self._by_owner()
        return FleetPage(
            title=_clean(title),
            answer=_answer(total, safe, self._state_unread),
            is_bad=safe < total or not total,
            facts=[f"scanned {moment(self._seen_ms)}", count(total, "checkpoint")],
            shares=_shares(self._verdicts),
            owners=owners[:OWNERS],
            other_owners=len(self._owners) - len(owners[:OWNERS]),
            changes=changes,
            entries=[_entry(row) for row in worst],
            left_out=total - safe - self._state_unread - len(worst),
            across=[_across(each) for each in self.across.findings() if each.name != "busiest"],
            busiest=[_busy(row) for row in self._busy],
            not_checked=_NOT_CHECKED,
        )

    def _by_owner(self) -> list[Owner]:
        """Return the owners of what is not safe, those with most of it first."""
        found = [
            Owner(
                name=_clean(name),
                shares=_shares(verdicts),
                number=verdicts.total(),
                unsafe=verdicts.total() - verdicts[Verdict.SAFE],
            )
            for name, verdicts in self._owners.items()
        ]
        return sorted(
            (each for each in found if each.unsafe), key=lambda each: (-each.unsafe, each.name)
        )


def build(rows: Iterable[FleetRow]) -> PageBuilder:
    """Return a builder that has taken all rows."""
    found = PageBuilder()
    for row in rows:
        found.add(row)
    return found


def changes_of(found: FleetDiff) -> list[Changes]:
    """Return what changed since an earlier scan, by how it changed."""
    return [
        Changes(
            title=f"{kind.value.replace('-', ' ').capitalize()}: {found.totals[kind]:,}",
            lines=[
                _clean(f"{each.location}: {each.sentence}")
                for each in found.changes
                if each.change is kind
            ][:CHANGES],
            more=max(found.totals[kind] - CHANGES, 0),
        )
        for kind in ChangeKind
        if kind in found.totals
    ]


def _answer(total: int, safe: int, state_unread: int) -> str:
    if not total:
        return "The scan found no checkpoint."
    bad = total - safe - state_unread
    verb = "needs" if bad == 1 else "need"
    said = f"{bad:,} of {count(total, 'checkpoint')} {verb} attention before a restart."
    if not bad:
        said = f"Nothing was found in {count(total, 'checkpoint')} that speaks against a restart."
    if state_unread:
        said += f" Of {state_unread:,}, the state was not read."
    return said


def _verdict(row: FleetRow) -> Verdict:
    """Return the verdict to show: what is safe except for unread state is not known."""
    return row.verdict if row.is_state_unread else row.so_far or row.verdict


def _urgency(row: FleetRow) -> tuple[int, str]:
    return row.urgency


def _writes(row: FleetRow) -> float:
    return row.writes_per_hour or 0.0


def _shares(verdicts: Counter[Verdict]) -> list[Share]:
    found = ((each, verdicts[each]) for each in ATTENTION)
    return [
        Share(
            verdict=each.value,
            word=WORDS[each] if number == 1 else _SEVERAL.get(each, WORDS[each]),
            number=number,
        )
        for each, number in found
    ]


def _entry(row: FleetRow) -> Entry:
    verdict = _verdict(row)
    facts = _facts(row)
    command = diagnose_command(row.location)
    lines = [
        f"{row.location}: {WORDS[verdict]}",
        _sentence(row),
        row.what_to_do,
        "; ".join(facts),
        f"Look closer: {command}",
    ]
    return Entry(
        verdict=verdict.value,
        word=WORDS[verdict],
        path=_clean(row.path),
        owner=_clean(row.owner or ""),
        code=row.decided_by or "",
        explain=f"holdfast rules explain {row.decided_by}" if row.decided_by else "",
        sentence=_clean(_sentence(row)),
        what_to_do=_clean(row.what_to_do),
        command=_clean(command),
        facts=facts,
        ticket=_verbatim([_clean(each) for each in lines if each]),
    )


def _verbatim(lines: Sequence[str]) -> str:
    """Return lines as a block of Markdown in which no name can be a link, an image or a mention."""
    longest = max(map(len, re.findall("`+", "\n".join(lines))), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join((fence, *lines, fence))


def _sentence(row: FleetRow) -> str:
    """Return what is wrong, without the verdict and the code that stand beside it."""
    _, found, rest = row.sentence.partition(f"({row.decided_by}): ")
    said = rest if found else row.sentence
    return said if said.endswith(".") else f"{said}."


def _facts(row: FleetRow) -> list[str]:
    now = datetime.fromtimestamp(row.seen_ms / 1000, tz=UTC)
    batch = "" if row.newest_batch is None else f"batch {row.newest_batch:,}"
    planned = "" if row.newest_ms is None else f"planned {ago(row.newest_ms, now)}"
    found = [
        f"{batch} {'pending' if row.is_pending else 'committed'}" if batch else "",
        planned,
        ", ".join(row.sources),
        f"not read: {'; '.join(row.not_read)}" if row.not_read else "",
    ]
    return [_clean(each) for each in found if each]


def _across(found: FleetFinding) -> Across:
    return Across(
        name=f"{found.code} {found.name}" if found.code else found.name,
        sentence=_clean(found.sentence),
        what_to_do=_clean(found.what_to_do),
        locations=[_clean(each) for each in found.locations],
        more=found.number - len(found.locations),
    )


def _busy(row: FleetRow) -> Busy:
    least = "" if row.is_all_listed else "at least "
    return Busy(
        path=_clean(row.path),
        per_hour=f"{row.writes_per_hour or 0:,.0f}",
        files=f"{least}{row.files:,}",
        size=f"{least}{size(row.size_bytes)}",
    )


def _clean(text: str) -> str:
    """Return text without secrets and control characters."""
    return printable(redact(text))
