"""Which generations of a stream a sink's rows come from.

A rewind goes on from a copy of the checkpoint before it, an undo goes back to an older one, and a
reset can keep the rows that are there. So the rows of a sink can come from several generations:
each has a place where it began to read, and one where it ended for this sink.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from holdfast.record.generations import CLONED, RESET, REWOUND, UNDONE, Generation


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """What a sink holds of one checkpoint: from where it began to read up to an end."""

    generation: Generation
    """The one that has read up to the end; its checkpoint has what is known of that."""
    opened: Generation
    """The one that began to read: the same, or the one that it was rewound from."""
    end: str
    """Where it ended for the sink, as canonical JSON."""

    @property
    def began(self) -> str:
        """Where it began to read, as the record has it; empty: not recorded."""
        return self.generation.began or self.opened.began

    @property
    def is_seeded(self) -> bool:
        """Whether it began at a position that a plan gave it."""
        opened = self.opened
        return bool(self.began) or (opened.opened_as in (RESET, CLONED) and opened.first_batch > 0)


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """Where the rows of a sink come from."""

    lives: tuple[Life, ...]
    """Oldest first; the last one is the current generation's."""
    numbers: frozenset[int]
    """Every generation whose rows are still there: a backfill during one of them counts."""


def find_lineage(generations: Sequence[Generation], sink: str, *, end: str) -> Lineage:
    """Return where the rows of a sink come from.

    Args:
        generations: Of the stream, all of them, oldest first.
        sink: Its label in the ledger.
        end: Where its ledger row ends, in the current generation.
    """
    by_number = {each.number: each for each in generations}
    at: Generation | None = generations[-1]
    lives: list[Life] = []
    numbers: set[int] = set()
    while at is not None:
        opened = _opening_of(at, by_number, numbers)
        lives.append(Life(generation=at, opened=opened, end=end))
        end = opened.kept.get(sink, "") if opened.opened_as == RESET else ""
        at = by_number.get(opened.number - 1) if end else None
    return Lineage(lives=tuple(reversed(lives)), numbers=frozenset(numbers))


def _opening_of(at: Generation, by_number: dict[int, Generation], numbers: set[int]) -> Generation:
    """Return the generation whose reading another one continues; note all in between."""
    while True:
        numbers.add(at.number)
        before = None
        if at.opened_as == REWOUND:
            before = by_number.get(at.number - 1)
        elif at.opened_as == UNDONE:
            # It has the checkpoint, and so the query id, of the one it goes back to.
            same = (
                each
                for number, each in sorted(by_number.items(), reverse=True)
                if number < at.number and each.query_id == at.query_id
            )
            before = next(same, None)
        if before is None:
            return at
        at = before
