"""A cell of the matrix: one change, one kind of table, one moment, and what must follow.

What follows is a sequence of words, one for each thing that the stream does from the change on:

    arrived     a batch was written
    starts      a start went through
    HF608       a start was refused, by this finding; several are joined by +
    CODE        a batch or a start was refused, by the code of this error
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from campaigns.target_changes.rows import Effect, nothing

ARRIVED, STARTS = "arrived", "starts"
ELSEWHERE = "refused, its rows in the other table"
STREAMED = "readings"
"""The name of the table that the stream writes into."""


class When(Enum):
    """The moment of the change."""

    RUNNING = "running"
    """Between two batches of a running query; then a batch, a stop and a start."""
    STOPPED = "stopped"
    """While no query runs; then a start and a batch."""
    DURING = "during"
    """While a batch is between its look at the table and its rows; then another batch, a stop and
    a start."""


class Table(Enum):
    """How the stream writes into the table."""

    APPENDED = "appended"
    MERGED = "merged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What must follow a change, for each moment, as words separated by blanks."""

    running: str
    stopped: str
    during: str

    def steps(self, when: When) -> tuple[str, ...]:
        """Return the words for a moment."""
        return tuple(getattr(self, when.value).split())


EXACT = Expected(
    running="arrived starts arrived",
    stopped="starts arrived",
    during="arrived arrived starts arrived",
)
"""The stream does not even notice."""
REPLACED = Expected(
    running="TABLE_CHANGED HF608", stopped="HF608", during="arrived TABLE_CHANGED HF608"
)
"""What was written is not there any more: an operator has to decide."""
REWRITTEN = Expected(
    running="TABLE_CHANGED starts arrived",
    stopped="starts arrived",
    during="arrived TABLE_CHANGED starts arrived",
)
"""The next start looks closer and finds every row."""


def refused(code: str, start: str = "") -> Expected:
    """Return that batches are refused by a code, and starts by another or not at all."""
    begin = start or f"starts {code}"
    return Expected(running=f"{code} {begin}", stopped=begin, during=f"arrived {code} {begin}")


def refused_at_once(code: str, start: str = "") -> Expected:
    """Return that a batch is refused too whose look at the table came before the change."""
    begin = start or f"starts {code}"
    return Expected(running=f"{code} {begin}", stopped=begin, during=f"{code} {begin}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that can happen to a table, and what must follow."""

    name: str
    act: Sequence[str] | Callable[[Any], None]
    """Statements of another session, or a function of the scene."""
    appended: Expected | None = EXACT
    """None where it makes no sense for such a table."""
    merged: Expected | None = EXACT
    effect: Effect = nothing
    """What it does to the rows that are there."""
    later: Effect = nothing
    """What it does to rows that come later, in front of the table."""
    holds: str = STREAMED
    """The table that has the stream's rows after it."""
    lands_there: bool = False
    """Whether a batch that is refused while it is written is in what the change has put there."""
    is_temporary: bool = False
    """Whether the cause is removed once it has refused something."""
    setup: str = ""
    """What the scene prepares for it: `partitioned`, `role`, `by_name`, `server`."""
    why: str = ""
    """A remark for the page."""

    def expected(self, table: Table) -> Expected | None:
        """Return what must follow for a kind of table."""
        return self.appended if table is Table.APPENDED else self.merged


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of the matrix."""

    kind: str
    change: Change
    table: Table
    when: When

    @property
    def name(self) -> str:
        """What it is called on the command line and in tests."""
        return f"{self.kind}/{self.table.value}/{self.change.name}/{self.when.value}"

    @property
    def expected(self) -> tuple[str, ...]:
        """What must follow."""
        found = self.change.expected(self.table)
        assert found is not None
        return found.steps(self.when)

    @property
    def verdict(self) -> str:
        """What the page says of it."""
        return self.verdict_of(self.expected)

    def verdict_of(self, steps: Sequence[str]) -> str:
        """Return the verdict that follows from what happened."""
        said = verdict_of(steps, is_harmless=is_harmless(self.change))
        if self.when is When.DURING and self.change.lands_there:
            return said.replace("refused:", f"{ELSEWHERE}:", 1)
        return said


def is_harmless(change: Change) -> bool:
    """Return whether a change leaves every row of the stream as it is, and adds none."""
    return change.effect is nothing and change.later is nothing


def verdict_of(steps: Sequence[str], *, is_harmless: bool) -> str:
    """Return the verdict that follows from what happened."""
    good = "exact" if is_harmless else "another writer's right"
    codes = [step for step in steps if step not in (ARRIVED, STARTS)]
    if not codes:
        return good
    said = [f"refused: {', then '.join(dict.fromkeys(codes))}"]
    if steps[0] == ARRIVED:
        said.insert(0, "arrives")
    if steps[-1] == ARRIVED:
        said.append(good)
    return ", then ".join(said)


def cells_of(kind: str, changes: Sequence[Change]) -> Iterator[Cell]:
    """Yield every cell of some changes."""
    for change in changes:
        for table in Table:
            if change.expected(table) is None:
                continue
            for when in When:
                yield Cell(kind=kind, change=change, table=table, when=when)
