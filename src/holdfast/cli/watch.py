"""Shows on a terminal how far a long read has come; otherwise says nothing."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.cli.status_line import status_line
from holdfast.clock import monotonic
from holdfast.redact import redact
from holdfast.storage.location import Location
from holdfast.storage.read import FileInfo, Listing, Page, Reader, WalkPage

SHOWN_AFTER_S = 2.0


class WatchedReader:
    """Reads as the reader it wraps does, and counts."""

    def __init__(self, reader: Reader) -> None:
        """Wrap a reader."""
        self._reader = reader
        self._lock = threading.Lock()
        self.checkpoints = 0
        """How many have been judged; 0 when it is one that was asked for."""
        self.listed = 0
        self.read_files = 0

    def judged(self, checkpoints: int) -> None:
        """Take how many checkpoints have been judged so far."""
        self.checkpoints = checkpoints

    def say(self) -> str:
        """Return how far it has come."""
        judged = f"{self.checkpoints:,} checkpoints, " if self.checkpoints else ""
        return (
            f"Reading {self.location}: "
            f"{judged}{self.listed:,} files listed, {self.read_files:,} read"
        )

    @property
    def location(self) -> Location:
        """Where it reads."""
        return self._reader.location

    def list(self, directory: str = "") -> Listing:
        """Count the files of a directory."""
        listing = self._reader.list(directory)
        with self._lock:
            self.listed += len(listing.files)
        return listing

    def list_after(self, directory: str, after: str) -> Page:
        """Count the files of one page of a directory."""
        page = self._reader.list_after(directory, after)
        with self._lock:
            self.listed += len(page.files)
        return page

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Count the files below a directory."""
        for info in self._reader.walk(directory):
            with self._lock:
                self.listed += 1
            yield info

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Count the files of a page."""
        page = self._reader.walk_page(directory, after=after)
        with self._lock:
            self.listed += len(page.files)
        return page

    def stat(self, path: str) -> FileInfo | None:
        """Look at one file."""
        return self._reader.stat(path)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Count one reading."""
        with self._lock:
            self.read_files += start == 0
        return self._reader.read(path, start=start, length=length)


@contextmanager
def watch(reader: Reader) -> Iterator[WatchedReader]:
    """Give a reader whose progress is shown on stderr while it takes long and is a terminal."""
    watched = WatchedReader(reader)
    with _shown(watched.say):
        yield watched


@contextmanager
def show_wait(location: str) -> Iterator[None]:
    """Show on stderr what is read, and for how long, while it takes long and is a terminal."""
    began, where = monotonic(), redact(location)
    with _shown(lambda: f"Reading {where}: {monotonic() - began:.0f} s"):
        yield


@contextmanager
def _shown(say: Callable[[], str]) -> Iterator[None]:
    """Show a line again and again until the end."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    shower = threading.Thread(target=_show, args=(say, done), daemon=True)
    shower.start()
    try:
        yield
    finally:
        done.set()
        shower.join()


def _show(say: Callable[[], str], done: threading.Event) -> None:
    if done.wait(SHOWN_AFTER_S):
        return
    with status_line() as show:
        while not done.wait(0.2):
            show(say())
