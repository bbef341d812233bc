from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.store import MemoryStore

from holdfast.errors import ReadError, WriteError
from holdfast.storage import Location, open_reader
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.overlay import OverlayChange, OverlayWriter
from holdfast.storage.read import PAGE_ENTRIES, Reader
from holdfast.storage.write import Writer, open_writer
from holdfast.storage.write_objects import ObjectWriter
from holdfast.testing.storage_contract import BreaksOff, StorageContract

NAMES = ["offsets/0", "offsets/1", "commits/0", "state/0/0/1.delta", "metadata", "d/x", "d/e/y"]
PATHS = st.sampled_from(["a", "b", "d/1", "d/2", "d/e/1", "d/e/2", "f/g/1", "d.1", "d-1/x"])
CHANGES = st.one_of(
    st.tuples(st.sampled_from(["put", "put_if_absent"]), PATHS, st.binary(max_size=3)),
    st.tuples(st.just("delete"), PATHS),
    st.tuples(st.just("copy"), PATHS, PATHS),
)


class OverlayContract(StorageContract):
    """The contract; a copy from another store is read when it is read here."""

    def test_a_copy_that_breaks_off_leaves_nothing(self, storage: Writer) -> None:
        storage.copy_from(BreaksOff({"a": bytes(9)}), "a", to="target")
        with pytest.raises(ReadError):
            storage.read("target")
        storage.delete("target")
        assert list(storage.walk()) == []


class TestOverNothing(OverlayContract):
    @pytest.fixture
    def storage(self) -> Writer:
        return OverlayWriter(MemoryStorage())


class TestOverDisk(OverlayContract):
    @pytest.fixture
    def storage(self, tmp_path: Path) -> Writer:
        return OverlayWriter(open_reader(str(tmp_path / "store")))


class TestOverDeletedFiles(OverlayContract):
    """All that is below was deleted in the overlay: an empty store again."""

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Writer:
        below = open_writer(str(tmp_path / "store"))
        for name in NAMES:
            below.put(name, b"below")
        overlay = OverlayWriter(below)
        for name in NAMES:
            overlay.delete(name)
        return overlay


class TestOverObjectsDeleted(OverlayContract):
    @pytest.fixture
    def storage(self) -> Writer:
        below = ObjectWriter(Location(scheme="s3", bucket="lake", path="cp"), MemoryStore())
        for number in range(PAGE_ENTRIES + 50):
            below.put(f"long/{number:06d}", b"below")
            below.put(f"d/{number:04}", b"below")
        overlay = OverlayWriter(below)
        for info in below.walk():
            overlay.delete(info.path)
        return overlay


class Halves:
    """Puts every second file below, and all other changes over it: content is in both."""

    def __init__(self) -> None:
        self.below = MemoryStorage()
        self.over = OverlayWriter(self.below)
        self.puts = 0

    def put(self, path: str, data: bytes) -> None:
        self.puts += 1
        is_below = self.puts % 2 and self.over.stat(path) is None
        (self.below if is_below else self.over).put(path, data)

    def __getattr__(self, name: str) -> object:
        return getattr(self.over, name)


class TestOverHalfOfIt(OverlayContract):
    @pytest.fixture
    def storage(self) -> Writer:
        return Halves()  # type: ignore[return-value]


def everything(reader: Reader) -> list[object]:
    """Return all that can be seen of a store, without times and etags."""
    walked = sorted(info.path for info in reader.walk())
    shown: list[object] = [walked, [reader.read(path) for path in walked]]
    for directory in ("", "d", "d/e", "f", "f/g", "none"):
        listing, page = reader.list(directory), reader.list_after(directory, "")
        shown.append(([(i.path, i.size_bytes) for i in listing.files], listing.directories))
        shown.append(([(i.path, i.size_bytes) for i in page.files], page.directories))
        for after in ("", "d/1", "d/e"):
            below = reader.walk_page(directory, after=after)
            shown.append([(i.path, i.size_bytes) for i in below.files])
        shown.append([i.path for i in reader.list_after(directory, "d").files])
    return shown


@given(
    before=st.dictionaries(PATHS, st.binary(max_size=3)),
    changes=st.lists(CHANGES, max_size=12),
)
def test_it_shows_what_a_store_would_show(
    before: dict[str, bytes], changes: list[tuple[str, ...]]
) -> None:
    """Whatever is there and whatever is done: as a store that was really changed."""
    below, changed = MemoryStorage(before), MemoryStorage(before)
    overlay = OverlayWriter(below)
    for name, *arguments in changes:
        answers = [answer(writer, name, arguments) for writer in (overlay, changed)]
        assert answers[0] == answers[1]
    assert everything(overlay) == everything(changed)
    assert below.files == before
    assert overlay.changes() == difference(before, changed.files, overlay)


def answer(writer: Writer, name: str, arguments: list[str]) -> object:
    try:
        return getattr(writer, name)(*arguments)
    except WriteError:
        return WriteError


def difference(
    before: dict[str, bytes], after: dict[str, bytes], overlay: OverlayWriter
) -> tuple[OverlayChange, ...]:
    """Return the changes of two dictionaries; copies are not compared by content."""
    found = []
    reported = {change.path for change in overlay.changes()}
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new and not (path in reported and new is not None):
            continue
        kind = "deleted" if new is None else "created" if old is None else "replaced"
        sizes = [None if each is None else len(each) for each in (old, new)]
        sized = {"bytes_before": sizes[0], "bytes_after": sizes[1]}
        found.append(OverlayChange(path=path, kind=kind, **sized))  # type: ignore[arg-type]
    return tuple(found)


def test_changes_are_what_differs_at_the_end() -> None:
    overlay = OverlayWriter(MemoryStorage({"a": b"1", "b": b"22", "c": b"3", "same": b"4"}))
    overlay.put("a", b"longer")
    overlay.delete("b")
    overlay.put("same", b"5")
    overlay.put("same", b"4")
    overlay.put("new", b"")
    overlay.put("came and went", b"1")
    overlay.delete("came and went")
    overlay.delete("never there")
    overlay.copy("c", "copied")
    overlay.copy("c", "c")
    assert overlay.changes() == (
        OverlayChange(path="a", kind="replaced", bytes_before=1, bytes_after=6),
        OverlayChange(path="b", kind="deleted", bytes_before=2, bytes_after=None),
        OverlayChange(path="copied", kind="created", bytes_before=None, bytes_after=1),
        OverlayChange(path="new", kind="created", bytes_before=None, bytes_after=0),
    )


def test_a_file_that_is_moved_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    below = MemoryStorage({"large": bytes(1000)})
    overlay = OverlayWriter(below)

    def refuse(*_: object, **__: object) -> bytes:
        raise AssertionError("it was read")

    with monkeypatch.context() as patched:
        patched.setattr(below, "read", refuse)
        overlay.copy("large", "aside/large")
        overlay.copy("aside/large", "again")
        overlay.delete("large")
        assert [change.kind for change in overlay.changes()] == ["created", "created", "deleted"]
    assert overlay.read("again", start=990) == bytes(10)
    assert overlay.read("large") is None


def test_a_directory_without_files_is_listed_as_the_store_below_lists_it(tmp_path: Path) -> None:
    """A disk has empty directories, and one whose only file was deleted is not among them."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "state" / "0").mkdir(parents=True)
    (tmp_path / "state" / "0" / "1.delta").write_bytes(b"1")
    overlay = OverlayWriter(open_reader(str(tmp_path)))
    assert overlay.list().directories == ("empty", "state")
    overlay.delete("state/0/1.delta")
    assert overlay.list().directories == ("empty",)
    assert overlay.list("state").directories == ()
    overlay.put_if_absent("state/0/2.delta", b"")
    assert overlay.list().directories == ("empty", "state")
    assert (tmp_path / "state" / "0" / "1.delta").exists()


def test_pages_over_pages_are_all_of_it() -> None:
    """Deleted pages are left out, and files that were put between them are on one page each."""
    below = ObjectWriter(Location(scheme="s3", bucket="lake", path="cp"), MemoryStore())
    names = [f"long/{number:06d}" for number in range(3 * PAGE_ENTRIES)]
    for name in [*names, *(f"long/000500.d/{number}" for number in range(PAGE_ENTRIES))]:
        below.put(name, b"1")
    overlay = OverlayWriter(below)
    for name in names[200 : 2 * PAGE_ENTRIES]:
        overlay.delete(name)
    for number in range(0, 3 * PAGE_ENTRIES, 7):
        overlay.put(f"long/{number:06d}+", b"2")
    expected = sorted(
        [*names[:200], *names[2 * PAGE_ENTRIES :]]
        + [f"long/{number:06d}+" for number in range(0, 3 * PAGE_ENTRIES, 7)]
    )
    listed: list[str] = []
    directories: list[str] = []
    after = ""
    while True:
        page = overlay.list_after("long", after)
        assert len(page.files) + len(page.directories) <= PAGE_ENTRIES
        listed += [info.path for info in page.files]
        directories += page.directories
        if page.next_after is None:
            break
        after = page.next_after
    assert listed == expected
    assert directories == ["000500.d"]
    walked, last = [], ""
    while True:
        found = overlay.walk_page("long", after=last)
        walked += [info.path for info in found.files if "000500.d/" not in info.path]
        if found.is_last:
            break
        last = found.files[-1].path
    assert walked == expected
