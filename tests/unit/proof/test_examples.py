"""Counter-examples from the rows that were collected of some identities."""

from __future__ import annotations

from holdfast.proof.examples import MOST_EXAMPLES, Copies, make_examples
from holdfast.proof.values import Fault


def copies(identity: int, value: str, count: int = 1) -> Copies:
    return Copies(identity=identity, hash=value, row={"value": value}, count=count)


def test_each_fault_is_told_from_the_others() -> None:
    expected = [copies(1, "a"), copies(2, "b"), copies(3, "c"), copies(4, "d", 3)]
    found = [copies(2, "b", 2), copies(3, "x"), copies(4, "d", 1), copies(5, "y")]
    told = [
        (each.fault, each.expected, each.found, each.expected_copies, each.found_copies)
        for each in make_examples(expected, found)
    ]
    assert told == [
        (Fault.LOST, {"value": "a"}, None, 1, 0),
        (Fault.LOST, {"value": "d"}, {"value": "d"}, 3, 1),
        (Fault.DUPLICATED, {"value": "b"}, {"value": "b"}, 1, 2),
        (Fault.ALTERED, {"value": "c"}, {"value": "x"}, 1, 1),
        (Fault.UNEXPECTED, None, {"value": "y"}, 0, 1),
    ]


def test_rows_that_are_equal_are_no_examples_beside_one_that_is_not() -> None:
    (example,) = make_examples([copies(1, "a")], [copies(1, "a"), copies(1, "b")])
    assert (example.fault, example.found) == (Fault.UNEXPECTED, {"value": "b"})


def test_a_second_row_of_a_key_is_a_duplicate_whatever_it_holds() -> None:
    (example,) = make_examples([copies(1, "a")], [copies(1, "a"), copies(1, "b")], is_unique=True)
    assert (example.fault, example.expected, example.found, example.found_copies) == (
        Fault.DUPLICATED,
        {"value": "a"},
        {"value": "b"},
        2,
    )
    (example,) = make_examples([], [copies(2, "of another")], is_unique=True)
    assert example.fault is Fault.UNEXPECTED


def test_there_are_at_most_ten() -> None:
    many = [copies(number, str(number)) for number in range(30)]
    assert len(make_examples(many, [])) == MOST_EXAMPLES
