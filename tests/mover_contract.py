"""What every store must do that moves directories in one step: subclass, and give a mover."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.storage.moving import Mover


class MoverContract:
    """A mover of an empty place."""

    @pytest.fixture
    def empty(self) -> Mover:
        """Return a mover of a place that is not there yet."""
        raise NotImplementedError

    @pytest.fixture
    def mover(self, empty: Mover) -> Mover:
        empty.put("from/a", b"a")
        empty.make_directory("into")
        return empty

    def test_a_directory_is_moved_with_what_is_in_it(self, mover: Mover) -> None:
        assert mover.move("from", "into/to")
        assert mover.read("into/to/a") == b"a"
        assert not mover.is_directory("from")
        assert not mover.move("from", "into/again")

    def test_nothing_is_moved_to_a_name_that_is_taken(self, mover: Mover) -> None:
        for taken in ("into/empty", "into/full"):
            mover.make_directory(taken)
        mover.put("into/full/b", b"b")
        mover.put("into/file", b"b")
        for taken in ("empty", "full", "file"):
            assert not mover.move("from", f"into/{taken}")
        assert mover.read("from/a") == b"a"
        assert mover.read("into/full/b") == b"b"

    def test_nothing_is_moved_into_a_directory_that_is_gone(self, mover: Mover) -> None:
        assert not mover.move("from", "gone/to")
        assert not mover.is_directory("gone")
        assert mover.read("from/a") == b"a"

    def test_nothing_is_moved_below_a_file(self, mover: Mover) -> None:
        mover.put("into/file", b"b")
        assert not mover.move("from", "into/file/to")
        assert not mover.move("into/file/from", "into/to")
        assert not mover.is_directory("into/file")

    def test_of_two_that_move_one_thing_one_does(self, mover: Mover) -> None:
        assert [mover.move("from", f"into/{each}") for each in "xy"] == [True, False]

    def test_of_many_at_once_one_moves(self, mover: Mover) -> None:
        """Each by its own name, and each to the same one."""
        for number in range(5):
            mover.put(f"one{number}/a", b"a")
            with ThreadPoolExecutor(4) as pool:
                apart = [f"into/{number}-{each}" for each in range(4)]
                moved = list(pool.map(lambda to, at=number: mover.move(f"one{at}", to), apart))
            assert sorted(moved) == [False, False, False, True]
            assert [mover.is_directory(each) for each in apart] == moved

    def test_a_tree_is_deleted_and_one_that_is_gone_is_no_error(self, mover: Mover) -> None:
        mover.sync_tree("from")
        mover.delete_tree("from")
        mover.delete_tree("from")
        assert not mover.is_directory("from")
        assert mover.read("from/a") is None

    def test_a_directory_is_made_with_those_above_it_and_may_be_there(self, mover: Mover) -> None:
        for _ in range(2):
            mover.make_directory("x/y/z")
        assert mover.is_directory("x/y")
        assert mover.list("x/y").directories == ("z",)
