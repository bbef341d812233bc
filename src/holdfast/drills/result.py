"""What one drill showed, as JSON has it."""

from __future__ import annotations

import msgspec


class CheckJson(msgspec.Struct, frozen=True, kw_only=True):
    """What one check found."""

    check: str
    verdict: str
    """PASS, FAIL, UNKNOWN, or NOT_CHECKED when there was nothing to compare."""
    told: str


class DrillJson(msgspec.Struct, frozen=True, kw_only=True):
    """What the kills in one phase showed."""

    drill: str
    verdict: str
    kills: list[str]
    lost: int
    duplicated: int
    unexpected: int
    """Rows, where it was worst."""
    cpu_seconds: float
    checks: list[CheckJson]
    directory: str
    """Where its history is."""
