"""Stores that tell of every file they have written: one more point to be killed at."""

from __future__ import annotations

from holdfast.apply.stores import Stores
from holdfast.points import reached
from holdfast.record.layout import LEASES
from holdfast.storage.location import parse_location
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer
from holdfast.storage.write_local import LocalWriter


class TellingWriter(LocalWriter):
    """A disk; after every change of a file it says so. A lease is not one: a kill never ends it."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file."""
        found = super().put_if_absent(path, data)
        _tell(path)
        return found

    def put(self, path: str, data: bytes) -> None:
        """Write a file."""
        super().put(path, data)
        _tell(path)

    def delete(self, path: str) -> None:
        """Delete a file."""
        super().delete(path)
        _tell(path)

    def copy_from(self, source: Reader, path: str, *, to: str) -> None:
        """Copy a file from elsewhere."""
        super().copy_from(source, path, to=to)
        _tell(to)


class TellingStores(Stores):
    """Files on disk, with a point after every change of one."""

    def _open(self, place: str) -> Writer:
        return TellingWriter(parse_location(place))


def _tell(path: str) -> None:
    if not path.startswith(f"{LEASES}/"):
        reached("file-changed")
