"""Listing a store that has directories and gives one of them at a time: HDFS, WebHDFS."""

from __future__ import annotations

import heapq
import posixpath
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec

from holdfast.storage.location import Location
from holdfast.storage.read import PAGE_ENTRIES, FileInfo, Listing, Page, WalkPage, cut_page


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What a directory holds: a file, or another directory."""

    info: FileInfo
    is_directory: bool

    @property
    def name(self) -> str:
        """Its name in the directory; that of a directory ends in a slash."""
        name = posixpath.basename(self.info.path)
        return f"{name}/" if self.is_directory else name


class DirectoryReader(ABC):
    """Reads below a location, given a way to list one directory. A `Reader`, once it reads too."""

    def __init__(self, location: Location) -> None:
        """Read below a location."""
        self.location = location

    @abstractmethod
    def entries(self, directory: str) -> Sequence[Entry]:
        """Return what is directly in a directory, in any order; nothing when there is none.

        Raises:
            ReadError: The store did not let us list it.
        """

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory; an empty listing when it is not there."""
        found = sorted(self.entries(directory), key=lambda entry: entry.info.path)
        return Listing(
            files=tuple(entry.info for entry in found if not entry.is_directory),
            directories=tuple(entry.name[:-1] for entry in found if entry.is_directory),
        )

    def list_after(self, directory: str, after: str) -> Page:
        """Return one page of what is directly in a directory, from a name on and without it."""
        found = {entry.name: entry for entry in self.entries(directory)}
        names, next_after = cut_page(found, after)
        return Page(
            files=tuple(found[name].info for name in names if not found[name].is_directory),
            directories=tuple(name[:-1] for name in names if found[name].is_directory),
            next_after=next_after,
        )

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory, one directory after the other."""
        waiting = [directory]
        while waiting:
            for entry in self.entries(waiting.pop()):
                if entry.is_directory:
                    waiting.append(entry.info.path)
                else:
                    yield entry.info

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Return the first files below a directory, after a path."""
        found = (info for info in self.walk(directory) if info.path > after)
        first = heapq.nsmallest(PAGE_ENTRIES, found, key=attrgetter("path"))
        return WalkPage(files=tuple(first), is_last=len(first) < PAGE_ENTRIES)
