"""Ways measured in turns, and their medians compared."""

from __future__ import annotations

from benchmarks.pairs import MOST_WARM_TURNS, compare_medians, measure_in_turns


def test_who_is_first_in_one_turn_is_last_in_the_next() -> None:
    order: list[str] = []

    def way(name: str) -> float:
        order.append(name)
        return 1.0

    found = measure_in_turns({"a": lambda: way("a"), "b": lambda: way("b")}, turns=4)
    assert order[-8:] == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert found == {"a": [1.0] * 4, "b": [1.0] * 4}


def test_nothing_is_measured_before_the_times_are_at_rest() -> None:
    times = iter([100.0 / number if number < 20 else 5.0 for number in range(1, 100)])
    (measured,) = measure_in_turns({"a": times.__next__}, turns=10).values()
    assert measured == [5.0] * 10


def test_times_that_never_come_to_rest_are_measured_all_the_same() -> None:
    numbers = iter(range(1, 1_000))
    (measured,) = measure_in_turns({"a": lambda: 2.0 ** next(numbers)}, turns=2).values()
    assert measured == [2.0 ** (MOST_WARM_TURNS + 1), 2.0 ** (MOST_WARM_TURNS + 2)]


def test_the_ratio_of_medians_lies_in_its_interval() -> None:
    theirs = [100.0 + number % 7 for number in range(40)]
    ratio = compare_medians([each * 1.2 for each in theirs], theirs)
    assert ratio.low <= ratio.value <= ratio.high
    assert ratio.low > 1.1
    assert ratio.high < 1.3


def test_one_slow_turn_in_forty_does_not_move_the_ratio() -> None:
    theirs = [100.0] * 40
    ratio = compare_medians([*theirs[1:], 10_000.0], theirs)
    assert (ratio.value, ratio.low, ratio.high) == (1.0, 1.0, 1.0)
