"""Packs a bundle: reads the checkpoint and the record, takes secrets out, and seals what is left.

The same files give the same bytes.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping

import msgspec

from holdfast.bundle.choose import (
    LARGEST_BUNDLE,
    LARGEST_FILE,
    MOST_FILES,
    Choice,
    choose,
    importance,
    reduce_snapshot,
    sidecar_of,
)
from holdfast.bundle.manifest import (
    CHECKPOINT,
    MANIFEST,
    RECORD,
    SEAL,
    ListedFile,
    Manifest,
    Member,
    Removal,
    digest,
    encode,
    is_member_name,
)
from holdfast.bundle.secrets import clean_file, clean_name, clean_value
from holdfast.errors import ConfigError, HoldfastError
from holdfast.printable import printable
from holdfast.record.layout import HOME
from holdfast.redact import redact_location
from holdfast.storage.read import FileInfo, Reader
from holdfast.version import __version__

_TOO_LARGE = f"it is larger than {LARGEST_FILE >> 20} MB"
_MADE_1980 = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can have: when a bundle was made is not part of it."""


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle, ready to be written."""

    data: bytes
    manifest: Manifest
    digest: str
    """Of the manifest: the seal."""


class _Packing(msgspec.Struct):
    """What was packed so far."""

    members: dict[str, bytes] = msgspec.field(default_factory=dict)
    files: list[ListedFile] = msgspec.field(default_factory=list)
    removed: list[Removal] = msgspec.field(default_factory=list)
    changed: set[str] = msgspec.field(default_factory=set)
    """Files that are not as Spark wrote them: Hadoop's checksums of them would not fit."""
    total: int = 0

    def list_only(self, path: str, info: FileInfo, why: str) -> None:
        """Keep that a file was there, and not its content."""
        shown, kinds = clean_name(path)
        shown = printable(shown)
        self.removed += [Removal(file=shown, place="its name", kind=kind) for kind in kinds]
        self.files.append(
            ListedFile(path=shown, size_bytes=info.size_bytes, modified=info.modified, left_out=why)
        )

    def keep(self, path: str, info: FileInfo, content: bytes) -> None:
        """Keep a file without its secrets."""
        cleaned = clean_file(path, content)
        self.removed += cleaned.removed
        self.members[path] = cleaned.content
        self.total += len(cleaned.content)
        if len(cleaned.removed) or len(content) != info.size_bytes:
            self.changed.add(path)
        self.files.append(ListedFile(path=path, size_bytes=info.size_bytes, modified=info.modified))


def pack(checkpoint: Reader, record: Reader | None, reports: Mapping[str, object]) -> Packed:
    """Pack a bundle.

    Args:
        checkpoint: Reads it.
        record: Reads the record of its stream, `_holdfast/<stream>` beside it; None without one.
        reports: What was found, as JSON values, by the names of their members: `facts.json`.

    Raises:
        ReadError: A directory cannot be listed.
        ConfigError: There are too many files, or none.
    """
    packing = _Packing()
    _pack_files(packing, checkpoint, CHECKPOINT)
    if record is not None:
        _pack_files(packing, record, f"{RECORD}/{record.location.name}")
    _leave_out_sidecars(packing)
    for name, value in reports.items():
        _pack_report(packing, name, value)
    manifest = Manifest(
        holdfast=__version__,
        location=printable(redact_location(str(checkpoint.location))),
        directories=tuple(filter(_is_shown, checkpoint.list().directories)),
        files=tuple(sorted(packing.files, key=lambda each: each.path)),
        members=tuple(
            Member(path=path, size_bytes=len(raw), sha256=digest(raw))
            for path, raw in sorted(packing.members.items())
        ),
        removed=tuple(sorted(packing.removed, key=lambda each: (each.file, each.place))),
    )
    sealed = encode(manifest)
    data = _zip({MANIFEST: sealed, **packing.members}, comment=SEAL + digest(sealed))
    return Packed(data=data, manifest=manifest, digest=digest(sealed))


def _is_shown(name: str) -> bool:
    return is_member_name(name) and not clean_name(f"/{name}").kinds


def _pack_report(packing: _Packing, name: str, value: object) -> None:
    found: list[tuple[str, str]] = []
    cleaned = clean_value(value, found)
    packing.members[name] = json.dumps(cleaned, indent=1, sort_keys=True).encode() + b"\n"
    packing.removed += [
        Removal(file=name, place=key.lstrip(", "), kind=kind) for key, kind in found
    ]


def _pack_files(packing: _Packing, reader: Reader, home: str) -> None:
    found = []
    for info in reader.walk():
        found.append(info)
        if len(found) > MOST_FILES:
            raise ConfigError(f"{reader.location} has more than {MOST_FILES:,} files.")
    if not found and home == CHECKPOINT:
        raise ConfigError(f"There is no file at {reader.location}.")
    for info in sorted(found, key=importance):
        path = f"{home}/{info.path}"
        content = _content_of(packing, reader, info, is_record=home != CHECKPOINT)
        if isinstance(content, str):
            packing.list_only(path, info, content)
        else:
            packing.keep(path, info, content)


def _content_of(
    packing: _Packing, reader: Reader, info: FileInfo, *, is_record: bool
) -> bytes | str:
    """Return what is packed of a file, or why it is left out."""
    choice = choose(f"{HOME}/{info.path}" if is_record else info.path)
    why = _why_left_out(choice, info, room=LARGEST_BUNDLE - packing.total)
    if why is not None:
        return why
    try:
        raw = reader.read(info.path, length=LARGEST_BUNDLE)
    except HoldfastError as error:
        return f"it could not be read: {error.why}"
    if raw is None:
        return "it was deleted meanwhile"
    if choice is Choice.REDUCED:
        return reduce_snapshot(raw) or "the snapshot cannot be read"
    return raw if len(raw) <= LARGEST_FILE else _TOO_LARGE


def _why_left_out(choice: Choice, info: FileInfo, *, room: int) -> str | None:
    if choice not in (Choice.COPIED, Choice.REDUCED):
        return str(choice.value)
    if not is_member_name(info.path):
        return "its name cannot be in a zip"
    if clean_name(f"/{info.path}").kinds:
        return "its name has a secret in it"
    if choice is Choice.COPIED and info.size_bytes > LARGEST_FILE:
        return _TOO_LARGE
    is_full = min(info.size_bytes, LARGEST_FILE) > room
    return f"the bundle has {LARGEST_BUNDLE >> 20} MB already" if is_full else None


def _leave_out_sidecars(packing: _Packing) -> None:
    """Leave out Hadoop's checksums of files that are not as Spark wrote them."""
    for path in map(sidecar_of, packing.changed):
        if packing.members.pop(path, None) is None:
            continue
        packing.files = [
            each
            if each.path != path
            else ListedFile(
                path=path,
                size_bytes=each.size_bytes,
                modified=each.modified,
                left_out="its file was changed for the bundle",
            )
            for each in packing.files
        ]


def _zip(members: Mapping[str, bytes], *, comment: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for path, raw in sorted(members.items()):
            info = zipfile.ZipInfo(path, date_time=_MADE_1980)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o600 << 16
            info.create_system = 3
            archive.writestr(info, raw, compresslevel=6)
        archive.comment = comment.encode()
    return made.getvalue()


def left_out(manifest: Manifest) -> Iterator[tuple[str, int]]:
    """Yield each reason for which files were left out, and how many were."""
    reasons = [each.left_out for each in manifest.files if each.left_out]
    for why in sorted(set(reasons)):
        yield why, reasons.count(why)
