"""Scans of what is in memory."""

from __future__ import annotations

from holdfast.fleet.request import FleetRequest
from holdfast.fleet.rows import FleetRow
from holdfast.fleet.scan import FleetScanner
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.read import FileInfo, Listing, Reader, WalkPage


class Counted(MemoryStorage):
    """Counts every request as a bucket would."""

    requests = 0

    def list(self, directory: str = "") -> Listing:
        self.requests += 1
        return super().list(directory)

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        self.requests += 1
        return super().walk_page(directory, after=after)

    def stat(self, path: str) -> FileInfo | None:
        self.requests += 1
        return super().stat(path)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        self.requests += 1
        return super().read(path, start=start, length=length)


def scanner_of(reader: Reader, **asked: object) -> FleetScanner:
    """Return a scanner of a store, one checkpoint at a time."""
    request = FleetRequest(locations=("memory",), **{"workers": 1, **asked})  # type: ignore[arg-type]
    return FleetScanner(request, open_at=lambda _: reader)


def scan_all(reader: Reader, **asked: object) -> dict[str, FleetRow]:
    """Return every row by its path."""
    rows = list(scanner_of(reader, **asked).run())
    found = {row.path: row for row in rows}
    assert len(found) == len(rows)
    return found


def scan_one(reader: Reader, **asked: object) -> FleetRow:
    """Return the row of a store that is one checkpoint."""
    (row,) = scan_all(reader, **asked).values()
    return row
