"""What a check says: it holds, it does not, or nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum


class Verdict(IntEnum):
    """The worse, the greater: of several the greatest counts."""

    PASS = 0
    UNKNOWN = 1
    """A kill that did not fire, or a check that could not look: nothing was shown."""
    FAIL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What one check found."""

    check: str
    verdict: Verdict
    told: str
    """In words; what was expected and what was found."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the one that counts; of none, that nothing was shown."""
    return max(verdicts, default=Verdict.UNKNOWN)
