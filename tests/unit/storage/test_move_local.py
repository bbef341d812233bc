"""Moving directories on this machine's disk, in one step or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast.errors import WriteError
from holdfast.storage.location import parse_location
from holdfast.storage.move_local import LocalMover


@pytest.fixture
def mover(tmp_path: Path) -> LocalMover:
    found = LocalMover(parse_location(str(tmp_path)))
    found.put("from/a", b"a")
    found.make_directory("into")
    return found


def test_a_directory_is_moved_with_what_is_in_it(mover: LocalMover) -> None:
    assert mover.move("from", "into/to")
    assert mover.read("into/to/a") == b"a"
    assert not mover.is_directory("from")
    assert not mover.move("from", "into/again")


def test_nothing_is_moved_to_a_name_that_is_taken(mover: LocalMover) -> None:
    for taken in ("into/empty", "into/full"):
        mover.make_directory(taken)
    mover.put("into/full/b", b"b")
    mover.put("into/file", b"b")
    for taken in ("empty", "full", "file"):
        assert not mover.move("from", f"into/{taken}")
    assert mover.read("from/a") == b"a"
    assert mover.read("into/full/b") == b"b"


def test_nothing_is_moved_into_a_directory_that_is_gone(mover: LocalMover) -> None:
    assert not mover.move("from", "gone/to")
    assert not mover.is_directory("gone")
    assert mover.read("from/a") == b"a"


def test_of_two_that_move_one_thing_one_does(mover: LocalMover) -> None:
    assert [mover.move("from", f"into/{each}") for each in "xy"] == [True, False]


def test_a_tree_is_deleted_and_one_that_is_gone_is_no_error(mover: LocalMover) -> None:
    mover.sync_tree("from")
    mover.delete_tree("from")
    mover.delete_tree("from")
    assert not mover.is_directory("from")


def test_another_file_system_is_an_error_and_not_a_copy(
    mover: LocalMover, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, os.strerror(18))

    monkeypatch.setattr(os, "rename", refuse)
    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(WriteError, match="cross-device"):
        mover.move("from", "into/to")
