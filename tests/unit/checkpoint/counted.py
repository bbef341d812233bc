"""A bucket that counts what is asked of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import PAGE_ENTRIES, FileInfo, Listing, WalkPage


class Counted(MemoryStorage):
    """A bucket that counts requests: a listing has one for each page of 1,000 keys."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.location = replace(self.location, scheme="s3")  # no checksums are kept beside files
        self.requests = 0
        self._lock = threading.Lock()

    def count(self, keys: int = 0) -> None:
        with self._lock:
            self.requests += max(1, -(-keys // PAGE_ENTRIES))

    def list(self, directory: str = "") -> Listing:
        found = super().list(directory)
        self.count(len(found.files) + len(found.directories))
        return found

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        found = [*super().walk(directory)]
        self.count(len(found))
        return iter(found)

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        self.count()
        return MemoryStorage(self.files).walk_page(directory, after=after)

    def stat(self, path: str) -> FileInfo | None:
        self.count()
        return super().stat(path)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        self.count()
        return super().read(path, start=start, length=length)
