"""Counter-examples: a few rows that are not as they must be, from what was collected of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

import msgspec

from holdfast.proof.values import CounterExample, Fault

MOST_EXAMPLES = 10


class Copies(msgspec.Struct, frozen=True, kw_only=True):
    """A row of one side, and how often it is there."""

    identity: int
    """Rows with one identity are versions of one."""
    hash: str
    """Rows with one hash are equal."""
    row: Mapping[str, object]
    count: int


def make_examples(
    expected: Sequence[Copies], found: Sequence[Copies], *, is_unique: bool = False
) -> tuple[CounterExample, ...]:
    """Return what is wrong with the rows of some identities, given all rows of them.

    Args:
        expected: The rows that must be there.
        found: The rows that are there.
        is_unique: Whether a second row of one identity is a duplicate, whatever it holds.
    """
    identities = dict.fromkeys(each.identity for each in (*expected, *found))
    examples = [
        example
        for identity in identities
        for example in _of_one(
            _by_hash(expected, identity), _by_hash(found, identity), is_unique=is_unique
        )
    ]
    order = list(Fault)
    return tuple(sorted(examples, key=lambda each: order.index(each.fault))[:MOST_EXAMPLES])


def _by_hash(rows: Sequence[Copies], identity: int) -> dict[str, Copies]:
    return {each.hash: each for each in rows if each.identity == identity}


def _of_one(
    wanted: dict[str, Copies], there: dict[str, Copies], *, is_unique: bool
) -> Iterator[CounterExample]:
    """Yield what is wrong with the rows of one identity."""
    missing = [row for row in wanted.values() if row.count > _count(there, row)]
    foreign = [row for row in there.values() if row.hash not in wanted]
    for row in there.values():
        if row.count > _count(wanted, row) > 0:
            yield _example(Fault.DUPLICATED, wanted[row.hash], row)
    for one, other in zip_longest(missing, foreign):
        if one is None and other is not None and is_unique and wanted:
            yield _second(next(iter(wanted.values())), other, there)
        elif one is None or other is None:
            yield _example(
                Fault.LOST if other is None else Fault.UNEXPECTED,
                one,
                other if other is not None else there.get(one.hash),
            )
        else:
            yield _example(Fault.ALTERED, one, other)


def _second(wanted: Copies, other: Copies, there: dict[str, Copies]) -> CounterExample:
    """Return that an identity has another row beside the one that must be there."""
    return CounterExample(
        fault=Fault.DUPLICATED,
        expected=wanted.row,
        found=other.row,
        expected_copies=wanted.count,
        found_copies=sum(each.count for each in there.values()),
    )


def _count(rows: dict[str, Copies], row: Copies) -> int:
    return rows[row.hash].count if row.hash in rows else 0


def _example(fault: Fault, wanted: Copies | None, there: Copies | None) -> CounterExample:
    return CounterExample(
        fault=fault,
        expected=None if wanted is None else wanted.row,
        found=None if there is None else there.row,
        expected_copies=0 if wanted is None else wanted.count,
        found_copies=0 if there is None else there.count,
    )
