"""What a rule is: from evidence to findings, pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from holdfast.evidence.stream import StreamEvidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that would lose or double data if the stream were started."""

    code: str
    name: str
    what: str
    """What was found, with the figures and the files."""
    how: str
    """What to do, as a command where there is one."""
    accepting: str
    """What going on all the same does to the data."""
    follows_from: tuple[str, ...] = ()
    sink: str | None = None
    """The sink it is about; None when it is about the query."""

    def __str__(self) -> str:
        return f"{self.code} {self.name}: {self.what} {self.how}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the catalogue."""

    code: str
    name: str
    judge: Callable[[StreamEvidence], Iterator[Finding]]
