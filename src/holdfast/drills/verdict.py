"""What a check says: it holds, it does not hold, or that is unknown or was not checked."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

import msgspec


class DrillVerdict(IntEnum):
    """The worse, the greater: of several the greatest counts."""

    NOT_CHECKED = -1
    """There was nothing to compare, such as the state of a stream without state."""
    PASS = 0
    UNKNOWN = 1
    """Inconclusive: a kill did not fire, or a check could not look."""
    FAIL = 2

    @property
    def is_bad(self) -> bool:
        """Whether it is worse than PASS."""
        return self > DrillVerdict.PASS


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found."""

    check: str
    verdict: DrillVerdict
    told: str
    """In words; what was expected and what was found."""


def worst(verdicts: Iterable[DrillVerdict]) -> DrillVerdict:
    """Return the one that counts; of none, UNKNOWN."""
    return max(verdicts, default=DrillVerdict.UNKNOWN)
