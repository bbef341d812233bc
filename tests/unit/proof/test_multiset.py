from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from holdfast.proof.multiset import compare

rows = st.lists(st.integers(0, 5))


def test_equal_multisets_in_another_order_are_exact() -> None:
    assert compare([1, 2, 2], [2, 1, 2]).exact


def test_a_row_that_is_not_there_is_missing() -> None:
    found = compare([1, 2], [1])
    assert (found.missing, found.duplicated, found.foreign) == (1, 0, 0)


def test_a_second_copy_is_duplicated_even_when_another_row_is_missing() -> None:
    # Equal counts and an equal number of distinct values would both call this fine.
    found = compare([1, 2, 3, 3], [1, 2, 2, 3])
    assert (found.missing, found.duplicated, found.foreign) == (1, 1, 0)
    assert not found.exact


def test_a_row_that_never_belonged_there_is_foreign_and_not_duplicated() -> None:
    found = compare([1], [1, 9, 9])
    assert (found.missing, found.duplicated, found.foreign) == (0, 0, 2)


@given(rows, rows)
def test_the_figures_account_for_every_row(expected: list[int], found: list[int]) -> None:
    difference = compare(expected, found)
    assert difference.expected == len(expected)
    surplus = difference.duplicated + difference.foreign
    assert len(found) == len(expected) - difference.missing + surplus
    assert difference.exact == (Counter(expected) == Counter(found))
