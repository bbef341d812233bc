"""A fleet scan as one page: the answer, by owner, the worst first, and what changed.

The page is `fleet.html`, where jinja2 escapes every value: paths and names come from checkpoints,
and are not to be trusted. The page has no script and loads nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.report.template import render


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """How many checkpoints have a verdict."""

    verdict: str
    word: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The checkpoints of one owner."""

    name: str
    shares: Sequence[Share]
    number: int
    unsafe: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One checkpoint."""

    verdict: str
    word: str
    path: str
    owner: str
    code: str
    explain: str
    """The command that explains the code; empty without one."""
    sentence: str
    what_to_do: str
    command: str
    facts: Sequence[str]
    """What else is known, each in a few words."""
    ticket: str
    """The text to paste into a ticket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """Something that several checkpoints show together."""

    name: str
    sentence: str
    what_to_do: str
    locations: Sequence[str]
    more: int
    """How many locations are not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Checkpoints that changed in one way since an earlier scan."""

    title: str
    lines: Sequence[str]
    more: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """A checkpoint that writes much."""

    path: str
    per_hour: str
    files: str
    size: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPage:
    """Everything on the page."""

    title: str
    answer: str
    is_bad: bool
    facts: Sequence[str]
    shares: Sequence[Share]
    owners: Sequence[Owner]
    """Those with something that is not safe; empty if nothing tells who owns what."""
    other_owners: int
    """How many owners are not shown."""
    changes: Sequence[Changes] | None
    """None without an earlier scan."""
    entries: Sequence[Entry]
    """What needs attention, the worst first."""
    left_out: int
    """How many more there are."""
    across: Sequence[Across]
    busiest: Sequence[Busy]
    not_checked: str


def render_fleet(page: FleetPage) -> str:
    """Return the page."""
    return render("fleet.html", page=page)
