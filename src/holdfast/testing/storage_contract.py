"""What every store must do, as tests: subclass, give a `storage` fixture, and pytest runs them.

class TestMyStore(StorageContract):
    @pytest.fixture
    def storage(self) -> Writer:
        return MyStore()
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast.errors import ReadError, WriteError
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import CHUNK_BYTES, PAGE_ENTRIES, Reader, read_chunks
from holdfast.storage.write import Writer

AWKWARD_NAMES = ["a b", "a#b", "a%20b", "a+b", "a?b=c&d", "ü", ".hidden", ".0.1b2c.tmp", "a:b", "~"]


class StorageContract:
    """The contract of `Reader` and `Writer`."""

    forbidden_names: frozenset[str] = frozenset()
    """Of the awkward names, those that the store itself refuses."""

    @pytest.fixture
    def storage(self) -> Writer:
        """Return an empty store."""
        raise NotImplementedError

    def test_what_is_put_is_read(self, storage: Writer) -> None:
        """Bytes come back as they went, empty ones too."""
        storage.put("offsets/0", b"v1\n\x00\xff")
        storage.put("empty", b"")
        assert storage.read("offsets/0") == b"v1\n\x00\xff"
        assert storage.read("empty") == b""

    def test_what_is_not_there_is_a_value(self, storage: Writer) -> None:
        """None, or an empty listing, never an error."""
        storage.put("a/b", b"1")
        assert storage.read("c") is None
        assert storage.read("a") is None
        assert storage.read("a/b/c") is None
        assert storage.stat("c") is None
        assert storage.stat("a") is None
        assert storage.read("c", start=1, length=1) is None
        assert storage.list("c").files == ()
        assert storage.list("c").directories == ()
        assert list(storage.walk("c")) == []

    @pytest.mark.parametrize(
        ("start", "length", "expected"),
        [
            (0, 4, b"0123"),
            (2, 3, b"234"),
            (8, 10, b"89"),
            (10, 5, b""),
            (99, 5, b""),
            (4, None, b"456789"),
            (0, 0, b""),
        ],
    )
    def test_a_part_is_cut_off_at_the_end(
        self, storage: Writer, *, start: int, length: int | None, expected: bytes
    ) -> None:
        """A start beyond the end gives nothing, as with files."""
        storage.put("file", b"0123456789")
        assert storage.read("file", start=start, length=length) == expected

    def test_a_listing_is_one_directory(self, storage: Writer) -> None:
        """Files and directories, sorted, and nothing from deeper down."""
        for path in ("b", "a", "d/x", "d/e/y", "f/z"):
            storage.put(path, b"1")
        root = storage.list()
        assert [info.path for info in root.files] == ["a", "b"]
        assert root.directories == ("d", "f")
        below = storage.list("d")
        assert [info.path for info in below.files] == ["d/x"]
        assert below.directories == ("e",)

    @pytest.mark.parametrize(
        ("after", "files", "directories"),
        [
            ("", ["000008.json", "000009.json", "000010.json"], ["e"]),
            ("000007.json", ["000008.json", "000009.json", "000010.json"], ["e"]),
            ("000008.json", ["000009.json", "000010.json"], ["e"]),
            ("000008.jsonx", ["000009.json", "000010.json"], ["e"]),
            ("000010.json", [], ["e"]),
            ("f", [], []),
        ],
    )
    def test_a_page_begins_after_a_name(
        self, storage: Writer, *, after: str, files: list[str], directories: list[str]
    ) -> None:
        """What comes before is not returned, and the name itself neither."""
        for name in ("000010.json", "000009.json", "000008.json", "e/x", "e/y/z"):
            storage.put(f"leases/{name}", b"12")
        storage.put("leases.g2/000011.json", b"1")
        page = storage.list_after("leases", after)
        assert [info.path for info in page.files] == [f"leases/{name}" for name in files]
        assert [info.size_bytes for info in page.files] == [2] * len(files)
        assert list(page.directories) == directories
        assert page.next_after is None

    def test_a_directory_that_does_not_exist_has_an_empty_page(self, storage: Writer) -> None:
        """Whatever it begins after."""
        storage.put("a/b", b"1")
        for directory, after in (("c", ""), ("c", "x"), ("a/b", ""), ("a/b", "c")):
            page = storage.list_after(directory, after)
            assert (page.files, page.directories, page.next_after) == ((), (), None)

    def test_the_pages_of_a_long_directory_are_all_of_it(self, storage: Writer) -> None:
        """Each begins where the one before ended, and none is longer than a page."""
        names = [f"{number:06d}" for number in range(PAGE_ENTRIES + 5)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda name: storage.put(f"long/{name}", b""), names))
        storage.put("long/directory/file", b"")
        pages = list(_pages(storage, "long"))
        assert pages[0] == [f"long/{name}" for name in names[:PAGE_ENTRIES]]
        assert [path for page in pages for path in page] == [f"long/{name}" for name in names]
        listed = storage.list_after("long", names[-2])
        assert [info.path for info in listed.files] == [f"long/{names[-1]}"]

    def test_a_page_of_the_whole_store_begins_after_a_name(self, storage: Writer) -> None:
        """The directory that has no name."""
        for path in ("a", "b", "d/x"):
            storage.put(path, b"1")
        page = storage.list_after("", "a")
        assert [info.path for info in page.files] == ["b"]
        assert page.directories == ("d",)

    def test_a_walk_is_everything_below(self, storage: Writer) -> None:
        """Every file once, with its path from the root of the store."""
        paths = ["a", "d/x", "d/e/y", "f/z"]
        for path in paths:
            storage.put(path, b"1")
        assert sorted(info.path for info in storage.walk()) == sorted(paths)
        assert sorted(info.path for info in storage.walk("d")) == ["d/e/y", "d/x"]

    def test_a_page_is_the_first_files_below_in_order(self, storage: Writer) -> None:
        """Sorted by path, from any depth, after a path that need not be there."""
        for path in ("d/9", "d/10", "d/e/y", "d/x", "e/1"):
            storage.put(path, b"1")
        page = storage.walk_page("d")
        assert [info.path for info in page.files] == ["d/10", "d/9", "d/e/y", "d/x"]
        assert page.is_last
        later = storage.walk_page("d", after="d/90")
        assert [info.path for info in later.files] == ["d/e/y", "d/x"]
        assert [info.path for info in storage.walk_page("d", after="d/e/y").files] == ["d/x"]
        assert storage.walk_page("none", after="none/1").files == ()

    def test_a_page_ends(self, storage: Writer) -> None:
        """After 1,000 files, and it says that more may follow."""
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda each: storage.put(f"d/{each:04}", b""), range(PAGE_ENTRIES + 1)))
        page = storage.walk_page("d")
        assert len(page.files) == PAGE_ENTRIES
        assert not page.is_last
        rest = storage.walk_page("d", after=page.files[-1].path)
        assert [info.path for info in rest.files] == [f"d/{PAGE_ENTRIES:04}"]
        assert rest.is_last

    def test_a_name_that_begins_like_another_is_not_below_it(self, storage: Writer) -> None:
        """`sensor-raw` is a prefix of `sensor-raw.g2` and not its parent."""
        storage.put("sensor-raw/offsets/0", b"1")
        storage.put("sensor-raw.g2/offsets/0", b"1")
        assert [info.path for info in storage.walk("sensor-raw")] == ["sensor-raw/offsets/0"]
        assert storage.list("sensor-raw").directories == ("offsets",)

    def test_a_listing_tells_size_and_content(self, storage: Writer) -> None:
        """The same content has the same etag until somebody writes."""
        storage.put("file", b"12345")
        (listed,) = storage.list().files
        assert listed.size_bytes == 5
        assert listed.modified.tzinfo is not None
        stat = storage.stat("file")
        assert stat is not None
        assert (stat.path, stat.size_bytes, stat.etag) == ("file", 5, listed.etag)
        storage.put("file", b"54321")
        changed = storage.stat("file")
        assert changed is not None
        assert changed.etag is None or changed.etag != listed.etag

    def test_a_large_file_is_read_in_pieces(self, storage: Writer) -> None:
        """Whole, in order, in pieces of the size asked for."""
        data = bytes(range(256)) * 100
        storage.put("large", data)
        chunks = list(read_chunks(storage, "large", chunk_bytes=10_000))
        assert [len(chunk) for chunk in chunks] == [10_000, 10_000, 5_600]
        assert b"".join(chunks) == data
        assert list(read_chunks(storage, "none")) == []

    @pytest.mark.parametrize("name", AWKWARD_NAMES)
    def test_awkward_names_are_names(self, storage: Writer, name: str) -> None:
        """What is listed is what was put, and can be read under that name."""
        if name in self.forbidden_names:
            with pytest.raises(WriteError):
                storage.put(f"d/{name}", b"1")
            return
        storage.put(f"d/{name}", b"1")
        assert [info.path for info in storage.list("d").files] == [f"d/{name}"]
        assert storage.read(f"d/{name}") == b"1"

    def test_put_if_absent_makes_a_file_once(self, storage: Writer) -> None:
        """The second is told so, and changes nothing."""
        assert storage.put_if_absent("leases/1", b"first") is True
        assert storage.put_if_absent("leases/1", b"second") is False
        assert storage.read("leases/1") == b"first"

    def test_of_many_at_once_exactly_one_makes_the_file(self, storage: Writer) -> None:
        """The race that a lease is."""
        for round_number in range(5):
            path = f"race/{round_number}"
            with ThreadPoolExecutor(8) as pool:
                contents = [str(n).encode() for n in range(8)]
                won = list(
                    pool.map(lambda data, to=path: storage.put_if_absent(to, data), contents)
                )
            assert sum(won) == 1
            assert storage.read(path) == contents[won.index(True)]
        assert len(list(storage.walk())) == 5

    def test_put_replaces(self, storage: Writer) -> None:
        """The newest content is what is read."""
        storage.put("file", b"old, and longer")
        storage.put("file", b"new")
        assert storage.read("file") == b"new"

    def test_delete_deletes_and_may_come_late(self, storage: Writer) -> None:
        """A file that is not there is as deleted as can be."""
        storage.put("file", b"1")
        storage.put("other", b"2")
        storage.delete("file")
        storage.delete("file")
        assert [info.path for info in storage.walk()] == ["other"]

    def test_copy_leaves_the_source_and_replaces_the_target(self, storage: Writer) -> None:
        """Byte for byte."""
        storage.put("a", b"1")
        storage.put("b/c", b"old")
        storage.copy("a", "b/c")
        assert storage.read("a") == storage.read("b/c") == b"1"

    def test_to_copy_what_is_not_there_is_an_error(self, storage: Writer) -> None:
        """And nothing appears."""
        with pytest.raises(WriteError):
            storage.copy("none", "target")
        assert storage.read("target") is None

    @pytest.mark.parametrize("size", [0, 5, CHUNK_BYTES, 2 * CHUNK_BYTES + 5])
    def test_a_file_of_another_store_is_copied_in_pieces(self, storage: Writer, size: int) -> None:
        """Byte for byte, whatever its size; what was there is replaced."""
        data = bytes(range(256)) * (size // 256) + bytes(size % 256)
        other = MemoryStorage({"state/0/1.zip": data})
        storage.put("copy/of/it", b"old")
        storage.copy_from(other, "state/0/1.zip", to="copy/of/it")
        assert storage.read("copy/of/it") == data
        assert [info.path for info in storage.walk()] == ["copy/of/it"]

    def test_a_file_of_the_same_store_is_copied(self, storage: Writer) -> None:
        """As `copy` does it."""
        storage.put("a b/ü", b"1")
        storage.copy_from(storage, "a b/ü", to="c/.d.crc")
        assert storage.read("c/.d.crc") == b"1"

    def test_to_copy_what_another_store_does_not_have_is_an_error(self, storage: Writer) -> None:
        """And nothing appears."""
        with pytest.raises(WriteError):
            storage.copy_from(MemoryStorage(), "none", to="target")
        assert list(storage.walk()) == []

    def test_a_copy_that_breaks_off_leaves_nothing(self, storage: Writer) -> None:
        """Not even the part that was read."""
        source = BreaksOff({"a": bytes(2 * CHUNK_BYTES + 5)})
        with pytest.raises(ReadError):
            storage.copy_from(source, "a", to="target")
        assert list(storage.walk()) == []


class BreaksOff(MemoryStorage):
    """A store that gives the first piece of a file and no more."""

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the first piece."""
        if start or length is None:
            raise ReadError(path, why="It broke off.", how="Try again.")
        return super().read(path, start=start, length=length)


def _pages(storage: Reader, directory: str) -> Iterator[list[str]]:
    after: str | None = ""
    while after is not None:
        page = storage.list_after(directory, after)
        yield [info.path for info in page.files]
        after = page.next_after
