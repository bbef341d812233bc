"""What a test asks of the fixture, and what is then drilled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.drills import user_stream
from holdfast.errors import ConfigError
from holdfast.testing.pytest_plugin import StreamDrill


def start() -> None:
    """Nothing is started here."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the drill was asked for."""
    seen: list[dict[str, Any]] = []

    def drill(_: object, **given: Any) -> Iterator[object]:
        seen.append(given)
        return iter(())

    monkeypatch.setattr(user_stream, "drill_user_stream", drill)
    return seen


@pytest.mark.parametrize(
    ("kill_at", "only", "points"),
    [
        ("every-phase", [], []),
        ("replay", ["replay"], []),
        (["replay", "sink-decided"], ["replay", "sink-decided"], []),
        ("before-send:COMMIT:3", ["kill-at"], ["before-send:COMMIT:3"]),
        (["at:S5", "replay", "at:S6:2"], ["replay", "kill-at"], ["at:S5:1", "at:S6:2"]),
        (["every-phase", "at:S5:1"], [], ["at:S5:1"]),
    ],
)
def test_phases_and_points_are_drilled_as_they_are_asked_for(
    tmp_path: Path,
    asked: list[dict[str, Any]],
    *,
    kill_at: str | list[str],
    only: list[str],
    points: list[str],
) -> None:
    StreamDrill(directory=tmp_path)(start, kill_at=kill_at)
    (given,) = asked
    assert given["only"] == only
    assert [str(point) for phase in given["also"] for point in phase.kills] == points


def test_what_is_no_point_is_told_before_anything_starts(
    tmp_path: Path, asked: list[dict[str, Any]]
) -> None:
    with pytest.raises(ConfigError, match="no point"):
        StreamDrill(directory=tmp_path)(start, kill_at="during:offsets/1")
    assert not asked


def test_a_drill_that_showed_nothing_is_not_exact(
    tmp_path: Path, asked: list[dict[str, Any]]
) -> None:
    outcome = StreamDrill(directory=tmp_path)(start)
    assert asked
    with pytest.raises(pytest.fail.Exception, match="not exact"):
        outcome.assert_exact()
