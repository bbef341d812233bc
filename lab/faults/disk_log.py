"""What a function does to the files below a directory, operation by operation, with every sync.

Python's own functions are wrapped while it runs. Before and after each, the directory is compared
with what the operations so far make of it: a change by any other way is an error, not overlooked.
"""

from __future__ import annotations

import builtins
import io
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from unittest import mock

from holdfast.storage.write_local import LocalWriter

ROOT = 0
"""The number of the directory itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A name was given, or taken away, in one step; a rename is both."""

    text: str
    sets: tuple[int, str, int] | None = None
    """Directory, name, and the file or directory that now has it."""
    removes: tuple[int, str] | None = None
    creates: Literal["file", "directory"] | None = None
    """What has its first name by it."""

    @property
    def directories(self) -> set[int]:
        """Those that must be synced before a power cut cannot undo it."""
        return {each[0] for each in (self.sets, self.removes) if each}


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A file got other content."""

    text: str
    file: int
    content: bytes
    """All of it, afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """Everything that was done to a file, or to a directory's entries, is on disk."""

    text: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A call of a `LocalWriter` has returned: what it did is promised."""

    text: str
    """The method, such as `put_if_absent`."""
    path: str


Operation = Entry | Write | Sync | Returned


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """Files and directories by number."""

    entries: dict[int, dict[str, int]] = field(default_factory=lambda: {ROOT: {}})
    contents: dict[int, bytes] = field(default_factory=dict)

    def copy(self) -> Disk:
        """Return one that can be changed without this one."""
        entries = {number: dict(names) for number, names in self.entries.items()}
        return Disk(entries=entries, contents=dict(self.contents))

    def create(self, entry: Entry) -> None:
        """Let what an entry creates exist, empty and without a name."""
        match entry.sets, entry.creates:
            case (_, _, number), "file":
                self.contents[number] = b""
            case (_, _, number), "directory":
                self.entries[number] = {}
            case _:
                pass

    def apply(self, entry: Entry) -> None:
        """Give a name, or take it away."""
        if entry.removes:
            self.entries[entry.removes[0]].pop(entry.removes[1], None)
        if entry.sets:
            self.entries[entry.sets[0]][entry.sets[1]] = entry.sets[2]

    def walk(self) -> Iterator[tuple[str, int]]:
        """Yield what can be reached, by path; the directory itself is not yielded."""
        waiting = [("", ROOT)]
        while waiting:
            here, number = waiting.pop()
            for name, found in self.entries[number].items():
                yield here + name, found
                if found in self.entries:
                    waiting.append((f"{here}{name}/", found))


class DiskLog:
    """The operations on one directory, and the disk they began with."""

    def __init__(self, directory: Path) -> None:
        """Take everything that is there now as synced."""
        self.directory = Path(os.path.realpath(directory))
        self.operations: list[Operation] = []
        self._now = Disk()
        self._numbers: dict[int, int] = {self.directory.stat().st_ino: ROOT}
        self._next = ROOT + 1
        self._lock = threading.RLock()
        self._is_looking = False
        self._load()
        self.before = self._now.copy()

    def run(self, act: Callable[[], object]) -> None:
        """Run a function, and write down what it does.

        Raises:
            AssertionError: It did something that is not among the operations known here.
        """
        with self._wrapped():
            act()
        self._observe()

    def _load(self) -> None:
        for path, status in self._scan():
            number = self._number(status)
            self._now.entries[self._parent(path)][Path(path).name] = number
            if (self.directory / path).is_dir():
                self._now.entries[number] = {}
            else:
                self._now.contents[number] = (self.directory / path).read_bytes()

    def _scan(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield what is there, a directory before what is in it."""
        for here, directories, files in os.walk(self.directory):
            for name in (*directories, *files):
                full = Path(here, name)
                assert not full.is_symlink(), f"{full} is a link: not known here"
                yield str(full.relative_to(self.directory)), full.stat()

    def _number(self, status: os.stat_result) -> int:
        if status.st_ino not in self._numbers:
            self._numbers[status.st_ino] = self._next
            self._next += 1
        return self._numbers[status.st_ino]

    def _parent(self, path: str) -> int:
        number = ROOT
        for part in Path(path).parts[:-1]:
            number = self._now.entries[number][part]
        return number

    def _observe(self) -> None:
        """Write down files that were created and written since; nothing else may have happened."""
        self._is_looking = True
        try:
            self._look()
        finally:
            self._is_looking = False

    def _look(self) -> None:
        known, found = dict(self._now.walk()), dict(self._scan())
        for path, status in found.items():
            full = self.directory / path
            if path not in known:
                assert full.is_file(), f"{path} was made by something unknown here"
                assert status.st_ino not in self._numbers, f"{path} was renamed or linked unseen"
                sets = self._place(path, self._number(status))
                self._log(Entry(text=f"create {path}", sets=sets, creates="file"))
            number = self._numbers[status.st_ino]
            assert known.get(path, number) == number, f"{path} was replaced unseen"
            if number in self._now.contents:
                self._written(path, number, full.read_bytes())
        assert known.keys() <= found.keys(), f"{known.keys() - found.keys()} vanished unseen"

    def _written(self, path: str, number: int, content: bytes) -> None:
        if content != self._now.contents[number]:
            self._now.contents[number] = content
            self.operations.append(Write(text=f"write {path}", file=number, content=content))

    def _log(self, entry: Entry) -> None:
        self.operations.append(entry)
        self._now.create(entry)
        self._now.apply(entry)
        reachable = {number for _, number in self._now.walk()} | {ROOT}
        # The numbers of files that are gone are given to new ones.
        self._numbers = {i: number for i, number in self._numbers.items() if number in reachable}

    def _place(self, path: str, number: int) -> tuple[int, str, int]:
        return self._parent(path), Path(path).name, number

    def _inside(self, given: Any, dir_fd: int | None = None) -> str | None:
        """Return a path relative to the directory; None if it is elsewhere."""
        base = Path(f"/proc/self/fd/{dir_fd}").readlink() if dir_fd is not None else Path.cwd()
        full = base / os.fsdecode(given)
        real = Path(os.path.realpath(full.parent)) / full.name
        return str(real.relative_to(self.directory)) if self.directory in real.parents else None

    @contextmanager
    def _wrapped(self) -> Iterator[None]:
        notes: dict[tuple[Any, str], Callable[..., None]] = {
            **dict.fromkeys([(os, "rename"), (os, "replace"), (os, "link")], self._moved),
            **dict.fromkeys([(os, "unlink"), (os, "remove"), (os, "rmdir")], self._removed),
            **dict.fromkeys([(os, "fsync"), (os, "fdatasync")], self._synced),
            **dict.fromkeys([(os, "open"), (io, "open"), (builtins, "open")], _nothing),
            (os, "mkdir"): self._made,
        }
        with ExitStack() as stack:
            for (module, name), note in notes.items():
                wrapped = self._wrap(getattr(module, name), note)
                stack.enter_context(mock.patch.object(module, name, wrapped))
            for name in ("put", "put_if_absent", "delete", "copy_from"):
                promising = self._promising(getattr(LocalWriter, name))
                stack.enter_context(mock.patch.object(LocalWriter, name, promising))
            yield

    def _wrap(self, real: Callable[..., Any], note: Callable[..., None]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            with self._lock:
                if self._is_looking:  # we ourselves, at the files
                    return real(*given, **named)
                self._observe()
                result = real(*given, **named)
                note(real.__name__, *given, **named)
                self._observe()
            return result

        return call

    def _promising(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(writer: LocalWriter, *given: Any, **named: Any) -> Any:
            result = method(writer, *given, **named)
            full = writer.inside(str(named.get("to", given[0])))
            with self._lock:
                if (path := self._inside(full)) is not None and result is not False:
                    self.operations.append(Returned(text=method.__name__, path=path))
            return result

        return call

    def _moved(self, what: str, source: Any, target: Any, **named: Any) -> None:
        old = self._inside(source, named.get("src_dir_fd"))
        new = self._inside(target, named.get("dst_dir_fd"))
        if old is None and new is None:
            return
        assert old is not None, f"{source} came from elsewhere: not known here"
        assert new is not None, f"{target} is elsewhere: not known here"
        parent, name = self._parent(old), Path(old).name
        sets = self._place(new, self._now.entries[parent][name])
        removes = None if what == "link" else (parent, name)
        self._log(Entry(text=f"{what} {old} {new}", sets=sets, removes=removes))

    def _removed(self, what: str, given: Any, *, dir_fd: int | None = None) -> None:
        if (path := self._inside(given, dir_fd)) is not None:
            removes = (self._parent(path), Path(path).name)
            self._log(Entry(text=f"{what} {path}", removes=removes))

    def _made(self, what: str, given: Any, mode: int = 0, *, dir_fd: int | None = None) -> None:
        if (path := self._inside(given, dir_fd)) is not None:
            sets = self._place(path, self._number((self.directory / path).stat()))
            self._log(Entry(text=f"{what} {path} {mode:o}", sets=sets, creates="directory"))

    def _synced(self, what: str, descriptor: int) -> None:
        number = self._numbers.get(os.fstat(descriptor).st_ino)
        if number is not None:
            name = Path(f"/proc/self/fd/{descriptor}").readlink().name
            self.operations.append(Sync(text=f"{what} {name}", number=number))


def _nothing(*_: object, **__: object) -> None:
    """Note nothing: a file that was created is seen in its directory."""
