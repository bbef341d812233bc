"""A fleet scan as one page: the answer, by owner, the worst first, and what changed.

The page is `fleet.html`, where jinja2 escapes every value: paths and names come from checkpoints,
and are not to be trusted. The page has no script and loads nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.report.template import render


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """How many checkpoints have a verdict."""

    verdict: str
    word: str
    number: int


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """The checkpoints of one owner."""

    name: str
    shares: Sequence[Share]
    number: int
    unsafe: int


class Entry(msgspec.Struct, frozen=True, kw_only=True):
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


class Across(msgspec.Struct, frozen=True, kw_only=True):
    """Something that several checkpoints show together."""

    name: str
    sentence: str
    what_to_do: str
    locations: Sequence[str]
    more: int
    """How many locations are not shown."""


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Checkpoints that changed in one way since an earlier scan."""

    title: str
    lines: Sequence[str]
    more: int


class Busy(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint that writes much."""

    path: str
    per_hour: str
    files: str
    size: str


class FleetPage(msgspec.Struct, frozen=True, kw_only=True):
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
