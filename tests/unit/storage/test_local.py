from __future__ import annotations

import errno
import os
import tracemalloc
from pathlib import Path

import pytest

from holdfast.errors import ReadError, UnsafePathError, WriteError
from holdfast.storage import open_reader, parse_location
from holdfast.storage.write import Writer, open_writer
from holdfast.testing.storage_contract import StorageContract


class TestLocal(StorageContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Writer:
        return open_writer(str(tmp_path / "store"))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("secret")
    directory = tmp_path / "checkpoint"
    (directory / "offsets").mkdir(parents=True)
    return directory


def test_a_link_that_leads_outside_is_listed_and_not_read(checkpoint: Path) -> None:
    (checkpoint / "offsets" / "0").symlink_to(checkpoint.parent / "secret")
    reader = open_reader(str(checkpoint))
    assert [info.path for info in reader.walk()] == ["offsets/0"]
    with pytest.raises(ReadError, match="leads outside"):
        reader.read("offsets/0")
    with pytest.raises(ReadError):
        reader.stat("offsets/0")


def test_a_linked_directory_is_not_walked_into(checkpoint: Path) -> None:
    (checkpoint / "up").symlink_to(checkpoint.parent)
    assert [info.path for info in open_reader(str(checkpoint)).walk()] == ["up"]


@pytest.mark.parametrize("path", ["../secret", "offsets/../../secret", "/etc/hostname"])
def test_a_path_that_leads_outside_is_not_read(checkpoint: Path, path: str) -> None:
    with pytest.raises(ReadError):
        open_reader(str(checkpoint)).read(path)


def test_a_location_that_is_itself_a_link_is_read(checkpoint: Path) -> None:
    (checkpoint / "metadata").write_text("{}")
    (checkpoint.parent / "link").symlink_to(checkpoint)
    assert open_reader(str(checkpoint.parent / "link")).read("metadata") == b"{}"


@pytest.mark.parametrize("change", ["put", "put_if_absent"])
def test_a_write_that_fails_leaves_nothing_behind(
    checkpoint: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WriteError, match="No space left on device"):
        getattr(open_writer(str(checkpoint)), change)("offsets/0", b"1")
    assert list((checkpoint / "offsets").iterdir()) == []


def test_a_reader_has_no_way_to_write() -> None:
    reader = open_reader("/nowhere")
    assert [
        name
        for name in ("put", "put_if_absent", "delete", "copy", "copy_from")
        if hasattr(reader, name)
    ] == []


def test_a_file_that_may_not_be_read_is_an_error_and_not_nothing(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkpoint / "metadata").write_text("{}")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    reader = open_reader(parse_location(str(checkpoint)))
    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "stat", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    for look in (reader.read, reader.stat, reader.list):
        with pytest.raises(ReadError, match="Permission denied"):
            look("metadata")


@pytest.mark.parametrize("root", ["/proc/nope", "/sys/x"])
def test_a_place_where_nothing_can_be_made_is_an_error_with_a_code(root: str) -> None:
    for change in ("put", "put_if_absent"):
        with pytest.raises(WriteError):
            getattr(open_writer(root), change)("a/b", b"1")


@pytest.mark.parametrize("change", ["put", "put_if_absent"])
def test_a_file_in_the_place_of_a_directory_is_an_error_with_a_code(
    checkpoint: Path, change: str
) -> None:
    (checkpoint / "commits").write_text("")
    with pytest.raises(WriteError):
        getattr(open_writer(str(checkpoint)), change)("commits/0", b"1")


def test_a_link_that_leads_outside_is_deleted_and_not_what_it_leads_to(checkpoint: Path) -> None:
    (checkpoint / "offsets/0").symlink_to(checkpoint.parent / "secret")
    (checkpoint / "up").symlink_to(checkpoint.parent)
    writer = open_writer(str(checkpoint))
    writer.delete("offsets/0")
    for path in ("up/secret", "../secret", "offsets/.."):
        with pytest.raises((UnsafePathError, WriteError)):
            writer.delete(path)
    assert (checkpoint.parent / "secret").read_text() == "secret"
    assert list((checkpoint / "offsets").iterdir()) == []


@pytest.mark.parametrize(
    "path", ["new/../../evil", "new/./../../evil", "../evil", "new//../../evil"]
)
def test_no_path_is_written_that_leads_up(checkpoint: Path, path: str) -> None:
    writer = open_writer(str(checkpoint))
    with pytest.raises(UnsafePathError):
        writer.put(path, b"x")
    assert not (checkpoint.parent / "evil").exists()


def test_a_part_of_a_small_file_takes_no_room_for_a_large_one(checkpoint: Path) -> None:
    (checkpoint / "metadata").write_text("{}")
    reader = open_reader(str(checkpoint))
    tracemalloc.start()
    assert reader.read("metadata", length=256 << 20) == b"{}"
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()
    assert reader.read("metadata", start=5, length=1) == b""


def test_where_a_link_leads_cannot_steer_a_terminal(checkpoint: Path) -> None:
    (checkpoint / "offsets/0").symlink_to("/evil\x1b[31m")
    with pytest.raises(UnsafePathError) as refused:
        open_reader(str(checkpoint)).read("offsets/0")
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize("answer", [errno.ENOSYS, errno.ENOTSUP, errno.EPERM])
def test_a_mount_without_hard_links_is_refused_by_its_reason(
    answer: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename would give two drivers the same lease."""

    def refuse(*_: object) -> None:
        raise OSError(answer, os.strerror(answer))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(WriteError, match="has no hard links"):
        open_writer(str(tmp_path)).put_if_absent("lease", b"1")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was synced, by path."""
    found: list[str] = []
    real = os.fsync

    def sync(descriptor: int) -> None:
        found.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    return found


def test_a_new_directory_is_synced_into_the_one_above_it(
    checkpoint: Path, synced: list[str]
) -> None:
    """Otherwise a power cut takes the directory, with the files that were synced into it."""
    open_writer(str(checkpoint)).put_if_absent("journal/plan/1.json", b"{}")
    assert synced[:2] == [str(checkpoint), str(checkpoint / "journal")]
    assert synced[-1] == str(checkpoint / "journal" / "plan")


def test_a_file_that_another_made_is_synced_before_we_say_it_is_there(
    checkpoint: Path, synced: list[str]
) -> None:
    (checkpoint / "offsets" / "0").write_bytes(b"1")
    assert open_writer(str(checkpoint)).put_if_absent("offsets/0", b"1") is False
    assert synced[-1] == str(checkpoint / "offsets")


def test_to_delete_what_is_not_there_makes_no_directory(checkpoint: Path) -> None:
    storage = open_writer(str(checkpoint))
    (checkpoint / "file").write_bytes(b"")
    storage.delete("commits/0")
    storage.delete("file/below")
    assert sorted(path.name for path in checkpoint.iterdir()) == ["file", "offsets"]


def test_directories_without_files_are_removed(tmp_path: Path) -> None:
    storage = open_writer(str(tmp_path))
    for path in ("a/b/c/1", "a/b/2", "d/3"):
        storage.put(path, b"1")
    storage.delete("a/b/c/1")
    storage.delete("a/b/2")
    storage.remove_empty_directories()
    assert sorted(str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*")) == ["d", "d/3"]
