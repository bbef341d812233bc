"""Whether a table that a stream is joined with is the one that its first batch saw."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from holdfast.record.layout import generation_path
from holdfast.spark.plans import StaticSide
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.open import open_reader
from holdfast.streams import static_sides
from holdfast.streams.static_sides import changed_sides

BEGAN = 1_700_000_000


@dataclass
class Generation:
    number: int = 1
    why: str = "opened"
    opened_at: str = datetime.fromtimestamp(BEGAN, UTC).isoformat()


@dataclass
class Place:
    record: Any
    generation: Generation


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(static_sides, "reader_of", lambda _, location: open_reader(location))
    write(tmp_path / "record" / generation_path(1), at=BEGAN)
    write(tmp_path / "table/_delta_log/00000000000000000000.json", at=BEGAN - 60)
    return tmp_path


def write(path: Path, *, at: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    os.utime(path, (at, at))


def doubts(home: Path, side: StaticSide | None = None, **generation: Any) -> list[str]:
    place = Place(open_reader(str(home / "record")), Generation(**generation))
    sides = (side or StaticSide(display_name="the Delta table kinds", delta=str(home / "table")),)
    return list(changed_sides(cast("Any", None), sides, cast("Any", place)))


def test_a_table_that_is_older_than_the_stream_is_the_same(home: Path) -> None:
    assert doubts(home) == []


@pytest.mark.parametrize("at", [BEGAN, BEGAN + 60])
def test_a_commit_since_then_is_a_doubt(home: Path, at: int) -> None:
    write(home / "table/_delta_log/00000000000000000001.json", at=at)
    (told,) = doubts(home)
    assert told == (
        "it joins the Delta table kinds, which is not a stream and can have changed since"
    )


@pytest.mark.parametrize(
    "generation",
    [
        {"number": 2, "why": "reset"},
        {"why": "adopted"},
        # The record was copied here: its files are newer than what they say.
        {"opened_at": datetime.fromtimestamp(BEGAN - 3600, UTC).isoformat()},
    ],
    ids=["a later generation", "adopted", "copied"],
)
def test_where_it_began_is_not_known(home: Path, generation: dict[str, Any]) -> None:
    assert len(doubts(home, **generation)) == 1


def test_what_cannot_be_told_is_a_doubt(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(doubts(home, StaticSide(display_name="files in /in"))) == 1
    assert len(doubts(home, StaticSide(display_name="gone", delta=str(home / "gone")))) == 1
    elsewhere = MemoryStorage({"_delta_log/0.json": b"{}"})
    monkeypatch.setattr(static_sides, "reader_of", lambda *_: elsewhere)
    assert len(doubts(home)) == 1  # another store has another clock
