"""Which generations the rows of a sink come from: resets, rewinds, moves and undos."""

from __future__ import annotations

import pytest

from holdfast.record.generations import (
    ADOPTED,
    CLONED,
    MOVED,
    OPENED,
    RESET,
    REWOUND,
    UNDONE,
    Generation,
)
from holdfast.streams.lineage import find_lineage

SEED, OTHER_SEED, KEPT = '{"0":1}', '{"0":2}', '{"0":3}'


def generation(
    number: int,
    why: str,
    *,
    began: str = "",
    kept: dict[str, str] | None = None,
    was: str | None = None,
    query: int | None = None,
) -> Generation:
    return Generation(
        number=number,
        checkpoint=f"/c/{number}",
        query_id=f"00000000-0000-4000-8000-{query or number:012d}",
        first_batch=1 if began else 0,
        why=why,
        opened_at="2026-01-01T00:00:00",
        began=began,
        kept=kept or {},
        was=was,
    )


def lives(*generations: Generation) -> tuple[list[tuple[int, str, str]], set[int]]:
    """Return generation, beginning and end of each life, and the numbers that count."""
    found = find_lineage(generations, "t", end="end")
    told = [(each.generation.number, each.began, each.end) for each in found.lives]
    return told, set(found.numbers)


SEEDED = generation(2, RESET, began=SEED)
BEFORE = generation(1, OPENED)


@pytest.mark.parametrize(
    ("generations", "told", "numbers"),
    [
        ((BEFORE,), [(1, "", "end")], {1}),
        ((generation(1, ADOPTED),), [(1, "", "end")], {1}),
        ((generation(1, CLONED, began=SEED),), [(1, SEED, "end")], {1}),
        ((BEFORE, SEEDED), [(2, SEED, "end")], {2}),
        # A rewind of a reset begins where the reset did; so does a move of it.
        ((BEFORE, SEEDED, generation(3, REWOUND)), [(3, SEED, "end")], {2, 3}),
        (
            (BEFORE, SEEDED, generation(3, MOVED, began=SEED, was=REWOUND)),
            [(3, SEED, "end")],
            {2, 3},
        ),
        ((BEFORE, generation(2, MOVED, was=REWOUND)), [(2, "", "end")], {1, 2}),
        # An undo goes back to the checkpoint, and the beginning, of before.
        ((BEFORE, SEEDED, generation(3, UNDONE, query=1)), [(3, "", "end")], {1, 3}),
        (
            (
                BEFORE,
                SEEDED,
                generation(3, RESET, began=OTHER_SEED),
                generation(4, UNDONE, query=2, began=SEED),
                generation(5, REWOUND, began=SEED),
            ),
            [(5, SEED, "end")],
            {2, 4, 5},
        ),
        # A reset that kept the rows of this sink, and one that kept those of another.
        (
            (BEFORE, generation(2, RESET, began=SEED, kept={"t": KEPT})),
            [(1, "", KEPT), (2, SEED, "end")],
            {1, 2},
        ),
        (
            (BEFORE, generation(2, RESET, began=SEED, kept={"other": KEPT})),
            [(2, SEED, "end")],
            {2},
        ),
        (
            (
                BEFORE,
                generation(2, RESET, began=SEED, kept={"t": KEPT}),
                generation(3, REWOUND, began=SEED),
            ),
            [(1, "", KEPT), (3, SEED, "end")],
            {1, 2, 3},
        ),
    ],
)
def test_where_the_rows_come_from(
    generations: tuple[Generation, ...], told: list[tuple[int, str, str]], numbers: set[int]
) -> None:
    assert lives(*generations) == (told, numbers)
