"""The states of power cuts themselves: all that POSIX allows, and none that a sync rules out."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.faults.power_cuts import PowerCut, power_cuts


def files_after(cuts: list[PowerCut]) -> set[tuple[tuple[str, bytes], ...]]:
    return {tuple(sorted(cut.files.items())) for cut in cuts}


def write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def test_a_file_that_is_not_synced_has_any_content_or_no_name(tmp_path: Path) -> None:
    cuts = list(power_cuts(tmp_path, lambda: write(tmp_path / "a", b"1234")))
    assert files_after(cuts) == {
        (),
        (("a", b""),),
        (("a", b"12"),),
        (("a", b"1234"),),
    }


def test_what_is_synced_is_there(tmp_path: Path) -> None:
    def act() -> None:
        write(tmp_path / "a", b"1234")
        sync(tmp_path / "a")
        sync(tmp_path)
        write(tmp_path / "b", b"")

    cuts = list(power_cuts(tmp_path, act))
    last = max(cut.done for cut in cuts)
    assert [dict(cut.files) for cut in cuts if cut.done == last] == [{"a": b"1234", "b": b""}]
    assert {"a": b"1234"} in [dict(cut.files) for cut in cuts]
    after_sync = [cut for cut in cuts if cut.done >= 4]
    assert after_sync
    assert all(cut.files["a"] == b"1234" for cut in after_sync)


def test_a_file_that_is_synced_can_be_without_a_name(tmp_path: Path) -> None:
    """Its content is on disk; the entry of its directory need not be."""

    def act() -> None:
        write(tmp_path / "a", b"1")
        sync(tmp_path / "a")
        (tmp_path / "a").rename(tmp_path / "b")

    found = files_after(list(power_cuts(tmp_path, act)))
    assert {(), (("a", b"1"),), (("b", b"1"),)} <= found
    assert (("a", b"1"), ("b", b"1")) not in found  # a rename is one step


def test_later_entries_can_be_there_without_earlier_ones(tmp_path: Path) -> None:
    def act() -> None:
        for name in "abc":
            write(tmp_path / name, b"")

    found = {"".join(cut.files) for cut in power_cuts(tmp_path, act)}
    assert found == {"", "a", "b", "c", "ab", "ac", "bc", "abc"}


def test_so_many_are_reordered_and_no_more(tmp_path: Path) -> None:
    def act() -> None:
        for name in "abcdef":
            write(tmp_path / name, b"")

    cuts = power_cuts(tmp_path, act, reordered=1)
    found = {"".join(cut.files) for cut in cuts if cut.done == 6}
    assert "abcdef"[1:] in found
    assert "abf" not in {"".join(sorted(each)) for each in found}


def test_a_directory_that_is_not_synced_takes_what_is_in_it(tmp_path: Path) -> None:
    def act() -> None:
        (tmp_path / "d").mkdir()
        write(tmp_path / "d" / "a", b"1")
        sync(tmp_path / "d" / "a")
        sync(tmp_path / "d")

    last = [cut for cut in power_cuts(tmp_path, act) if cut.done == 5]
    assert not last  # the same as states before
    (tmp_path / "d" / "a").unlink()
    (tmp_path / "d").rmdir()
    assert () in files_after(list(power_cuts(tmp_path, act)))


def test_a_deleted_file_can_come_back_until_its_directory_is_synced(tmp_path: Path) -> None:
    write(tmp_path / "a", b"1")

    def act() -> None:
        (tmp_path / "a").unlink()
        sync(tmp_path)
        write(tmp_path / "b", b"")

    cuts = list(power_cuts(tmp_path, act))
    assert [sorted(cut.files) for cut in cuts] == [["a"], [], ["b"]]


def test_a_state_can_be_made_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()

    def act() -> None:
        (home / "d").mkdir()
        write(home / "d" / "a", b"12")

    for cut in power_cuts(home, act):
        cut.restore(home)
        there = {str(each.relative_to(home)) for each in home.rglob("*")}
        assert there == {*cut.files, *cut.directories}
        assert all((home / path).read_bytes() == data for path, data in cut.files.items())


def link(home: Path) -> None:
    (home / "b").symlink_to(home / "a")


def append_below(home: Path) -> None:
    os.truncate(home / "a", 0)
    os.mkfifo(home / "pipe")


def unseen_rename(home: Path) -> None:
    os.renames(home / "a", home / "c")
    os.system(f"mv {home}/c {home}/d")


@pytest.mark.parametrize("change", [link, append_below, unseen_rename])
def test_an_operation_that_is_not_known_is_not_overlooked(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    write(tmp_path / "a", b"1")
    with pytest.raises(AssertionError):
        list(power_cuts(tmp_path, lambda: change(tmp_path)))


def test_os_functions_are_given_back(tmp_path: Path) -> None:
    before = (os.rename, os.fsync, os.unlink)
    list(power_cuts(tmp_path, lambda: write(tmp_path / "a", b"1")))
    assert (os.rename, os.fsync, os.unlink) == before
