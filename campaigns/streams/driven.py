"""A workload with the driver that runs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.drills.drill import Answer, Seen, Sinks
from holdfast.drills.kill import Driver


@dataclass(frozen=True, slots=True, kw_only=True)
class Driven:
    """A workload and its driver; a `Subject` of a drill."""

    work: Sinks
    driver: Driver

    @property
    def answers(self) -> Sequence[Answer]:
        """What its sinks must hold."""
        return self.work.answers

    def look(self) -> Iterable[Seen]:
        """Read its sinks."""
        return self.work.look()
