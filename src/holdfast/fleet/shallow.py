"""A reader that answers from one page of a listing, and spends at most so many requests.

The keys of a checkpoint sort as `commits/`, `metadata`, `offsets/`, `sources/`, `state/`. So one
page of 1,000 keys shows the logs, and everything of a small checkpoint. What the page shows, or
shows to be missing, costs nothing more. Beyond the limit a read is refused: what was not read then
becomes part of the evidence, and never looks fine.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from heapq import nlargest
from shlex import quote
from threading import Lock

from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS, SOURCES, STATE, Kind, parse_name
from holdfast.errors import ReadError
from holdfast.storage.location import Location
from holdfast.storage.read import FileInfo, Listing, Page, Reader, WalkPage, cut_page

MOST_REQUESTS = 12
"""For one checkpoint, its discovery included."""
LARGEST_READ = 8 << 20
"""In bytes: of a larger file only parts are read, as many as its parser asks for."""
_KEPT = 1 << 20


class ShallowReader:
    """Reads one checkpoint with few requests."""

    answers_at_once = True
    """Other checkpoints are read meanwhile, each by its own thread."""

    def __init__(
        self,
        reader: Reader,
        *,
        root: Listing | None = None,
        most: int = MOST_REQUESTS,
        spent: int = 0,
    ) -> None:
        """Wrap a reader of the checkpoint; nothing is read yet.

        Args:
            reader: Of the checkpoint.
            root: What is directly in it, if its discovery has listed that.
            most: How many requests it may cost.
            spent: How many it has cost already: those of its discovery.
        """
        self._reader = reader
        self._root = root
        self.most = most
        self._lock = Lock()
        self.requests = spent
        self.refused: list[str] = []
        """Paths that were not read, because the limit was reached."""
        self._files: dict[str, FileInfo] = {}
        self._paths: list[str] = []
        self._shown: list[str] = []
        self._is_all = False
        self._listed: dict[str, Listing] = {}
        self._kept: dict[str, bytes | None] = {}

    def look(self) -> None:
        """List the first page.

        Raises:
            ReadError: The store did not let us list it.
        """
        self._spend("")
        page = self._reader.walk_page("")
        self._files = {info.path: info for info in page.files}
        self._paths = sorted(self._files)
        self._is_all = page.is_last
        self._shown = [path for path in self._paths if not _is_checksum(path)]

    @property
    def location(self) -> Location:
        """Where it reads."""
        return self._reader.location

    @property
    def files(self) -> tuple[FileInfo, ...]:
        """What the first page showed."""
        return tuple(self._files.values())

    @property
    def is_all_listed(self) -> bool:
        """Whether the first page showed every file."""
        return self._is_all

    @property
    def fingerprint(self) -> str:
        """Changes when any file of the first page appears, vanishes or changes."""
        seen = hashlib.sha256()
        for path in self._paths:
            info = self._files[path]
            mark = info.etag or f"{info.size_bytes} {info.modified.timestamp()}"
            seen.update(f"{path}\0{mark}\n".encode("utf-8", "surrogateescape"))
        return seen.hexdigest()[:32]

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory."""
        if not directory and self._root is not None:
            return self._root
        if not self._covers(directory):
            if directory not in self._listed:
                self._spend(directory)
                self._listed[directory] = self._reader.list(directory)
            return self._listed[directory]
        prefix = f"{directory}/" if directory else ""
        below = self._below(prefix)
        names = (path.removeprefix(prefix) for path in below)
        return Listing(
            files=tuple(self._files[path] for path in below if "/" not in path[len(prefix) :]),
            directories=tuple(sorted({name.split("/")[0] for name in names if "/" in name})),
        )

    def list_after(self, directory: str, after: str) -> Page:
        """Return one page of what is directly in a directory, from a name on and without it."""
        if not self._covers(directory):
            self._spend(directory)
            return self._reader.list_after(directory, after)
        here = self.list(directory)
        prefix = f"{directory}/" if directory else ""
        files = {info.path.removeprefix(prefix): info for info in here.files}
        names, next_after = cut_page([*files, *(f"{name}/" for name in here.directories)], after)
        return Page(
            files=tuple(files[name] for name in names if name[-1] != "/"),
            directories=tuple(name[:-1] for name in names if name[-1] == "/"),
            next_after=next_after,
        )

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory, a page at a time; each page is a request."""
        after = ""
        while True:
            page = self.walk_page(directory, after=after)
            yield from page.files
            if page.is_last or not page.files:
                return
            after = page.files[-1].path

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Return the first files below a directory, after a path."""
        if not self._covers(directory):
            self._spend(directory)
            return self._reader.walk_page(directory, after=after)
        below = self._below(f"{directory}/" if directory else "")
        found = tuple(self._files[path] for path in below if path > after)
        return WalkPage(files=found, is_last=True)

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        if self._is_known(path):
            return self._files.get(path)
        self._spend(path)
        return self._reader.stat(path)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there."""
        if self._is_known(path) and path not in self._files:
            return None
        info = self._files.get(path)
        if self._is_late(path) or (info is not None and info.size_bytes <= _KEPT):
            raw = self._read_once(path)
            end = None if length is None else start + length
            return None if raw is None else raw[start:end]
        size = LARGEST_READ + 1 if info is None else info.size_bytes - start
        if size > LARGEST_READ and (length is None or length > LARGEST_READ):
            if info is not None:
                self._refuse(
                    path, f"It has more than the {LARGEST_READ >> 20} MB that a scan reads."
                )
            length = LARGEST_READ
        self._spend(path)
        if info is not None:
            self._spend(path)  # a part: the store is asked for the size first
        return self._reader.read(path, start=start, length=length)

    def _read_once(self, path: str) -> bytes | None:
        """Read a small file completely, once."""
        if path not in self._kept:
            self._spend(path)
            self._kept[path] = self._reader.read(path)
        return self._kept[path]

    def read_first(self) -> None:
        """Read what every start needs, before anything else can use up the requests."""
        for path in self._needed():
            info = self._files.get(path)
            if info is not None and info.size_bytes <= _KEPT:
                self._read_once(path)

    def _needed(self) -> Iterator[str]:
        yield METADATA
        for log, number in ((COMMITS, 1), (OFFSETS, 2)):
            names = (parse_name(path) for path in self._below(f"{log}/") if path.count("/") == 1)
            batches = (name.batch_id for name in names if name.kind is Kind.ENTRY)
            for batch in nlargest(number, (each for each in batches if each is not None)):
                yield f"{log}/{batch}"

    def _is_known(self, path: str) -> bool:
        """Return whether the page tells if a file is there.

        A running query commits a batch after its page was listed. So the commit entry of a planned
        batch is asked for, also if the page does not show it.
        """
        if self._is_late(path):
            return False
        return self._is_all or (bool(self._paths) and path <= self._paths[-1])

    def _is_late(self, path: str) -> bool:
        """Return whether a file is the commit entry of a planned batch that the page lacks."""
        directory, _, name = path.rpartition("/")
        is_planned = directory == COMMITS and f"{OFFSETS}/{name}" in self._files
        return is_planned and path not in self._files

    def _covers(self, directory: str) -> bool:
        """Return whether the page shows everything below a directory."""
        if self._is_all:
            return True
        return bool(directory) and bool(self._paths) and f"{directory}0" <= self._paths[-1]

    def _below(self, prefix: str) -> Sequence[str]:
        first = bisect_left(self._shown, prefix)
        last = bisect_right(self._shown, f"{prefix}\U0010ffff") if prefix else len(self._shown)
        return self._shown[first:last]

    def _spend(self, path: str) -> None:
        with self._lock:
            if self.requests < self.most:
                self.requests += 1
                return
        self._refuse(path, f"The scan sends at most {self.most} requests for one checkpoint.")

    def _refuse(self, path: str, why: str) -> None:
        self.refused.append(path)
        raise ReadError(
            str(self.location.join(path) if path else self.location),
            why=why,
            how=f"Raise --requests, or run `holdfast inspect {quote(str(self.location))}`.",
        )


def _is_checksum(path: str) -> bool:
    """Return whether a file is Hadoop's checksum of a file that is not a log entry."""
    is_hidden = path.startswith((f"{SOURCES}/", f"{STATE}/"))
    return is_hidden and parse_name(path).kind is Kind.SIDECAR
