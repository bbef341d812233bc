from __future__ import annotations

from collections.abc import Iterator

import pytest

from holdfast import points


@pytest.fixture(autouse=True)
def nobody_listens_afterwards() -> Iterator[None]:
    yield
    points.listen(None)


def test_a_point_does_nothing_while_nobody_listens() -> None:
    points.reached("S1")
    points.tell("batch", 3)


def test_a_listener_hears_every_point_in_order() -> None:
    heard: list[str] = []
    points.listen(heard.append)
    points.reached("S1")
    points.tell("batch", 3)
    points.reached("S5")
    assert heard == ["S1", "batch=3", "S5"]


def test_a_listener_that_was_taken_away_hears_no_more() -> None:
    heard: list[str] = []
    points.listen(heard.append)
    points.listen(None)
    points.reached("S1")
    assert heard == []
