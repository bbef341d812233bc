"""The manifest of a bundle: every file that was there, whether it is inside, and what was removed.

The SHA-256 of the manifest is in the zip's comment. It seals the bundle: the manifest has the
SHA-256 of every other member.
"""

from __future__ import annotations

import hashlib
import json
from datetime import datetime
from pathlib import PurePosixPath
from typing import Annotated

import msgspec

MANIFEST = "manifest.json"
CHECKPOINT, RECORD = "checkpoint", "record"
"""Where the files of the checkpoint, and of the record beside it, are in the zip."""
FORMAT = "holdfast-evidence"
VERSION = 1
_LONGEST_NAME = 4_096
SEAL = "holdfast evidence 1, sha256 of manifest.json: "


class ListedFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of the checkpoint or of the record."""

    path: str
    """In the zip: `checkpoint/offsets/41`."""
    size_bytes: int
    """Where it was read."""
    modified: Annotated[datetime, msgspec.Meta(tz=True)]
    left_out: str = ""
    """Why its content is not in the bundle; empty when it is."""


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A member of the zip, other than the manifest."""

    path: str
    size_bytes: int
    sha256: str


class Removal(msgspec.Struct, frozen=True, kw_only=True):
    """A secret that was taken out."""

    file: str
    place: str
    """Its line, and its key where it is JSON."""
    kind: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle says of itself."""

    format: str = FORMAT
    version: int = VERSION
    holdfast: str
    """The version that made it."""
    location: str
    """Of the checkpoint, without credentials."""
    directories: tuple[str, ...] = ()
    """Directories of the checkpoint at its top, empty ones too."""
    files: tuple[ListedFile, ...] = ()
    members: tuple[Member, ...] = ()
    removed: tuple[Removal, ...] = ()


def encode(manifest: Manifest) -> bytes:
    """Return the text of a manifest; the same for the same manifest."""
    plain = msgspec.to_builtins(manifest)
    return json.dumps(plain, indent=1, ensure_ascii=True, sort_keys=True).encode() + b"\n"


def decode(raw: bytes) -> Manifest | None:
    """Return a manifest; None if the text is none that is known here."""
    try:
        found = msgspec.json.decode(raw, type=Manifest)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    return found if (found.format, found.version) == (FORMAT, VERSION) else None


def digest(raw: bytes) -> str:
    """Return the SHA-256 of a member."""
    return hashlib.sha256(raw).hexdigest()


def is_member_name(name: str) -> bool:
    """Return whether a name can be one of a file in a bundle, so that it leads nowhere else."""
    path = PurePosixPath(name)
    is_inside = not path.is_absolute() and ".." not in path.parts and "\\" not in name
    return is_inside and name == str(path) and name.isprintable() and len(name) <= _LONGEST_NAME
