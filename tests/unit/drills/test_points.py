from __future__ import annotations

import pytest

from holdfast.drills.kill.points import Delete, Named, Point, Rename, Send, parse_point
from holdfast.drills.phases import ALL
from holdfast.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("before:offsets/1", Rename("before", "offsets/1")),
        ("after:.zip:3", Rename("after", ".zip", 3)),
        ("before-send:COMMIT:18", Send("before", "COMMIT", 18)),
        ("after-send:INSERT INTO t", Send("after", "INSERT INTO t")),
        ("before-delete:offsets/1", Delete("before", "offsets/1")),
        ("at:deleted", Named("deleted")),
    ],
)
def test_a_point_is_read_as_it_is_written(text: str, point: Point) -> None:
    assert parse_point(text) == point
    assert parse_point(str(point)) == point


def test_the_points_of_every_phase_are_read_back() -> None:
    kills = [kill for phase in ALL for kill in phase.kills]
    assert [parse_point(str(kill)) for kill in kills] == kills


@pytest.mark.parametrize(
    "text", ["", "COMMIT", "during:offsets/1", "before:", "at:S3:0", "at-send:X", "before:a:b:1"]
)
def test_what_is_no_point_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_point(text)
