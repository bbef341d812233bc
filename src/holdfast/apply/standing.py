"""How the world stands to a step: as the step found it, as the step leaves it, or neither."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotDone:
    """Everything is as the step expects it."""


@dataclass(frozen=True, slots=True)
class Done:
    """Everything is as the step leaves it."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Something else has changed it; the step must not be carried out."""

    why: str


Standing = NotDone | Done | Moved
