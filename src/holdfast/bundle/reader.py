"""Reads a bundle like the checkpoint that it was made of; and opens either, as a location says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from holdfast.bundle.manifest import CHECKPOINT, RECORD
from holdfast.bundle.opened import Opened
from holdfast.bundle.unpack import BadBundle, Bundle, BundleError, read_bundle
from holdfast.errors import HoldfastError, ReadError
from holdfast.record.layout import HOME
from holdfast.storage.location import Location, parse_location
from holdfast.storage.read import PAGE_ENTRIES, FileInfo, Listing, Page, WalkPage, cut_page

_EPOCH = datetime.fromtimestamp(0, tz=UTC)


class BundleReader:
    """Reads what a bundle has of a directory. What was left out is listed, and cannot be read."""

    def __init__(
        self, location: Location, files: Mapping[str, tuple[FileInfo, bytes | str]]
    ) -> None:
        """Read files.

        Args:
            location: Where they were when the bundle was made.
            files: What a listing shows of each, and its content or why it is left out. A path that
                ends in a slash is a directory with nothing in it.
        """
        self.location = location
        self._files = files

    def list(self, directory: str = "") -> Listing:
        """Return what is directly in a directory; an empty listing when it is not there."""
        names = sorted(self._names(directory))
        prefix = f"{directory}/" if directory else ""
        return Listing(
            files=tuple(self._files[prefix + name][0] for name in names if name[-1] != "/"),
            directories=tuple(name[:-1] for name in names if name[-1] == "/"),
        )

    def list_after(self, directory: str, after: str) -> Page:
        """Return one page of what is directly in a directory, from a name on and without it."""
        names, next_after = cut_page(self._names(directory), after)
        prefix = f"{directory}/" if directory else ""
        return Page(
            files=tuple(self._files[prefix + name][0] for name in names if name[-1] != "/"),
            directories=tuple(name[:-1] for name in names if name[-1] == "/"),
            next_after=next_after,
        )

    def walk(self, directory: str = "") -> Iterator[FileInfo]:
        """Yield every file below a directory."""
        prefix = f"{directory}/" if directory else ""
        for path, (info, _) in self._files.items():
            if path.startswith(prefix) and path[-1] != "/":
                yield info

    def walk_page(self, directory: str, *, after: str = "") -> WalkPage:
        """Return the first files below a directory, after a path."""
        found = sorted(
            (info for info in self.walk(directory) if info.path > after), key=lambda each: each.path
        )
        return WalkPage(files=tuple(found[:PAGE_ENTRIES]), is_last=len(found) < PAGE_ENTRIES)

    def stat(self, path: str) -> FileInfo | None:
        """Return what a listing shows of a file, or None when it is not there."""
        found = self._files.get(path)
        return None if found is None or path.endswith("/") else found[0]

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        """Return the bytes of a file, or of a part of it; None when it is not there.

        Raises:
            ReadError: The file was left out of the bundle.
        """
        found = self._files.get(path)
        if found is None or path.endswith("/"):
            return None
        content = found[1]
        if isinstance(content, str):
            raise ReadError(
                str(self.location.join(path)),
                why=f"It was left out of the bundle: {content}.",
                how="Read the checkpoint itself.",
            )
        return content[start:] if length is None else content[start : start + length]

    def _names(self, directory: str) -> set[str]:
        prefix = f"{directory}/" if directory else ""
        inside = (path[len(prefix) :] for path in self._files if path.startswith(prefix))
        return {name[: name.find("/") + 1] or name for name in inside if name}


def open_bundle(path: Path) -> Opened:
    """Open a bundle.

    Raises:
        BundleError: The file is no bundle, or does not fit its seal.
    """
    bundle = read_bundle(path)
    if isinstance(bundle, BadBundle):
        raise BundleError(str(path), bundle)
    location = _location_of(bundle)
    if location is None:
        reason = "It does not say which checkpoint it was made of."
        raise BundleError(str(path), BadBundle(reasons=(reason,)))
    files = _files_of(bundle, CHECKPOINT)
    for name in bundle.manifest.directories:
        files.setdefault(f"{name}/", (_nothing(f"{name}/"), b""))
    record = {f"{HOME}/{path}": each for path, each in _files_of(bundle, RECORD).items()}
    record = {path: (_moved(each[0], path), each[1]) for path, each in record.items()}
    root = None if location.parent is None else BundleReader(location.parent, record)
    return Opened(checkpoint=BundleReader(location, files), root=root, bundle=bundle)


def _location_of(bundle: Bundle) -> Location | None:
    try:
        return parse_location(bundle.manifest.location)
    except HoldfastError:
        return None


def _files_of(bundle: Bundle, home: str) -> dict[str, tuple[FileInfo, bytes | str]]:
    found: dict[str, tuple[FileInfo, bytes | str]] = {}
    for each in bundle.manifest.files:
        if not each.path.startswith(f"{home}/") or each.path[-1] == "/":
            continue
        path = each.path.removeprefix(f"{home}/")
        content: bytes | str | None = each.left_out or bundle.members.get(each.path)
        info = FileInfo(path=path, size_bytes=each.size_bytes, modified=each.modified)
        found[path] = (info, "it is missing" if content is None else content)
    return found


def _nothing(path: str) -> FileInfo:
    return FileInfo(path=path, size_bytes=0, modified=_EPOCH)


def _moved(info: FileInfo, path: str) -> FileInfo:
    return FileInfo(path=path, size_bytes=info.size_bytes, modified=info.modified)
