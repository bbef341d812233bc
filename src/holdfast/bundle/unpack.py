"""Opens a bundle. It is somebody else's file: everything in it is checked before it is believed."""

from __future__ import annotations

import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec

from holdfast.bundle.choose import LARGEST_BUNDLE, MOST_FILES
from holdfast.bundle.manifest import MANIFEST, SEAL, Manifest, decode, digest, is_member_name
from holdfast.errors import ReadError

LARGEST_ZIP = 256 << 20
_LARGEST_CONTENT = 2 * LARGEST_BUNDLE
"""Of all members: the files, the manifest and the reports."""
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_MOST_REASONS = 20
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    OverflowError,
)


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle that fits its seal."""

    manifest: Manifest
    members: Mapping[str, bytes]
    digest: str


class BadBundle(msgspec.Struct, frozen=True, kw_only=True):
    """A file that is no bundle, or was changed since it was sealed."""

    reasons: tuple[str, ...]


class BundleError(ReadError):
    """A bundle cannot be used."""

    code = "BUNDLE"

    def __init__(self, path: str, bad: BadBundle) -> None:
        self.reasons = bad.reasons
        super().__init__(
            path,
            why=" ".join(bad.reasons),
            how="Ask for the bundle again, and compare its seal with the one that was printed.",
        )


def read_bundle(file: Path | BinaryIO) -> Bundle | BadBundle:
    """Read a bundle and compare everything in it with its manifest and its seal."""
    try:
        if isinstance(file, Path) and file.stat().st_size > LARGEST_ZIP:
            return _bad(f"The file is larger than {LARGEST_ZIP >> 20} MB.")
        with zipfile.ZipFile(file) as archive:
            wrong = tuple(_check_names(archive.infolist()))
            if wrong:
                return _bad(*wrong)
            return _open(archive)
    except _BROKEN:
        return _bad("It is not a zip that can be read, or it is cut off.")


def _check_names(members: list[zipfile.ZipInfo]) -> Iterator[str]:
    """Yield what is wrong with the directory of a zip, before any member is unpacked."""
    if len(members) > MOST_FILES:
        yield f"It has more than {MOST_FILES:,} members."
        return
    if sum(each.file_size for each in members) > _LARGEST_CONTENT:
        yield f"Its members have more than {_LARGEST_CONTENT >> 20} MB."
    names = [each.orig_filename for each in members]
    if len(set(names)) < len(names):
        yield "Two members have the same name."
    for each in members:
        if (why := _wrong_with(each)) is not None:
            yield f"The member {each.orig_filename!r} {why}."


def _wrong_with(member: zipfile.ZipInfo) -> str | None:
    name, kind = member.orig_filename, stat.S_IFMT(member.external_attr >> 16)
    if not is_member_name(name):
        return "has a name that could lead outside the bundle"
    if kind not in (0, stat.S_IFREG):
        return "is a link or a device"
    if member.flag_bits & _ENCRYPTED:
        return "is encrypted"
    is_usual = member.compress_type in _COMPRESSIONS
    return None if is_usual else "is compressed in a way that a bundle does not use"


def _open(archive: zipfile.ZipFile) -> Bundle | BadBundle:
    contents: dict[str, bytes] = {}
    room = _LARGEST_CONTENT
    for each in archive.infolist():
        with archive.open(each) as member:
            # The size that a zip states can be a lie: read no more than we would take.
            raw = member.read(room + 1)
        room -= len(raw)
        if room < 0:
            return _bad(f"Its members have more than {_LARGEST_CONTENT >> 20} MB.")
        contents[each.filename] = raw
    sealed = contents.pop(MANIFEST, None)
    manifest = None if sealed is None else decode(sealed)
    if sealed is None or manifest is None:
        return _bad("It has no manifest that this version of Holdfast can read.")
    wrong = [*_compare(manifest, contents)]
    if archive.comment.decode("ascii", "replace") != SEAL + digest(sealed):
        wrong.insert(0, "manifest.json does not fit the seal in the zip's comment.")
    if wrong:
        return _bad(*wrong)
    return Bundle(manifest=manifest, members=contents, digest=digest(sealed))


def _compare(manifest: Manifest, contents: Mapping[str, bytes]) -> Iterator[str]:
    """Yield what does not fit the manifest."""
    named = {each.path: each for each in manifest.members}
    if len(named) < len(manifest.members):
        yield "The manifest names a member twice."
    yield from (f"{path!r} is not in the manifest." for path in sorted(contents.keys() - named))
    yield from (f"{path!r} is missing." for path in sorted(named.keys() - contents.keys()))
    for path in sorted(named.keys() & contents.keys()):
        if digest(contents[path]) != named[path].sha256:
            yield f"{path!r} was changed: it does not fit its SHA-256."


def _bad(*reasons: str) -> BadBundle:
    more = len(reasons) - _MOST_REASONS
    shown = reasons[:_MOST_REASONS]
    return BadBundle(reasons=shown if more <= 0 else (*shown, f"{more:,} more do not fit."))
