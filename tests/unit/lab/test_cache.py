from __future__ import annotations

from pathlib import Path

import pytest

from lab.cache import cache_directory, cached


@pytest.fixture(autouse=True)
def cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_LAB_CACHE", str(tmp_path))


def test_a_thing_is_made_once() -> None:
    made: list[Path] = []

    def make(target: Path) -> None:
        made.append(target)
        (target / "file").write_text("made")

    first = cached("thing", make)
    second = cached("thing", make)
    assert first == second
    assert (first / "file").read_text() == "made"
    assert len(made) == 1


def test_a_making_that_breaks_off_leaves_nothing() -> None:
    def make(target: Path) -> None:
        (target / "half").write_text("half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cached("thing", make)
    assert list(cache_directory().iterdir()) == []


def test_when_two_make_the_same_thing_the_first_one_stays() -> None:
    def make(target: Path) -> None:
        (target / "file").write_text("late")
        winner = cache_directory() / "thing"
        winner.mkdir()
        (winner / "file").write_text("early")

    assert (cached("thing", make) / "file").read_text() == "early"
