"""The form of Holdfast's own files: one JSON object with `format` and `version`, made once.

A file is made by put-if-absent; no driver replaces another's. A version that is newer than the one
known here is refused: an older Holdfast must not judge what it does not understand. Unknown fields
are ignored when read.

A record is hostile input. A file is read up to a limit, never through a link that leads outside,
never from a pipe; every field has bounds, and what a file says of itself must agree with its name.
Whatever is wrong with a file is a `RecordError`, with the command that takes the file out.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import TypeVar

import msgspec

from holdfast.errors import HoldfastError, UnsafePathError
from holdfast.record.bounds import Version
from holdfast.record.repair import move_aside, rename_aside
from holdfast.storage.location import Location
from holdfast.storage.read import Listing, Page, Reader
from holdfast.storage.write import Writer

LARGEST_BYTES = 1 << 20
"""Of one file. Holdfast writes a few hundred bytes; the longest texts a file may hold fit twice."""
_SHOWN = 200
STOPPED = "Make sure that no driver of the stream is running."


class RecordError(HoldfastError):
    """A file of the record is not what Holdfast writes."""

    code = "RECORD"

    def __init__(
        self, location: Location, *, why: str, how: str, repair: str = "", what: str = ""
    ) -> None:
        self.location = location
        self.repair = repair
        """A shell command that takes the file out of the record; empty when that is no remedy."""
        super().__init__(
            what=what or f"The record of the stream cannot be used: {location}.",
            why=why,
            how=f"{how} {repair}".strip(),
        )


class Document(msgspec.Struct, frozen=True, kw_only=True, tag_field="format"):
    """A file of the record; a subclass names its `format` by its tag."""

    version: Version = 1

    @property
    def path(self) -> str:
        """Where it belongs in the record: what a file says of itself must agree with its name."""
        raise NotImplementedError


D = TypeVar("D", bound=Document)


def refuse(reader: Reader, path: str, *, why: str, is_directory: bool = False) -> RecordError:
    """Return the error of a file that Holdfast did not write, with the command that moves it."""
    location = reader.location.join(path)
    return RecordError(
        location,
        why=why,
        how=f"Restore the file from a backup, or move it aside. {STOPPED} Then run:",
        repair=move_aside(location, is_directory=is_directory),
    )


def refuse_directory(location: Location, *, why: str, what: str = "") -> RecordError:
    """Return the error of something that stands where a directory of the stream should be."""
    return RecordError(
        location,
        what=what,
        why=why,
        how=f"Restore the directory from a backup, or rename what is there. {STOPPED} Then run:",
        repair=rename_aside(location),
    )


def encode(document: Document) -> bytes:
    """Return the bytes of a document, readable by people."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def read_document(
    reader: Reader, path: str, kind: type[D], *, below: str = "", limit: int = LARGEST_BYTES
) -> D | None:
    """Read a document; None when it is not there.

    Args:
        reader: Of the record, or of something above it.
        path: Of the file in the record.
        kind: What the file must hold.
        below: The path from the reader to the record, ending in `/`.
        limit: The largest file that is read, in bytes.

    Raises:
        RecordError: It is there and is not one, or is of a newer version.
        ReadError: The store did not let us read it.
    """
    try:
        raw = reader.read(below + path, length=limit + 1)
    except UnsafePathError as error:
        raise refuse(reader, below + path, why=error.why) from error
    if raw is None:
        return None
    if len(raw) > limit:
        raise refuse(reader, below + path, why=f"It is larger than {limit:,} bytes.")
    try:
        found = _parse(raw)
        _check_version(reader, below + path, found, known=_version_of(kind))
        document = msgspec.convert(found, type=kind)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        why = f"It is not what Holdfast writes there: {str(error)[:_SHOWN]}."
        raise refuse(reader, below + path, why=why) from error
    if document.path != path:
        why = f"By its content it belongs to {document.path}."
        raise refuse(reader, below + path, why=why)
    return document


def create(writer: Writer, document: Document) -> bool:
    """Make a file once; False when another driver's is there.

    A request whose answer was lost may have made it: what is there is compared with ours.

    Raises:
        WriteError: The store did not answer; whether the file was made is then not known.
        RecordError: A value is out of bounds, so that the next start would refuse the file.
    """
    raw = _encode_checked(writer, document)
    if writer.put_if_absent(document.path, raw):
        return True
    try:
        return writer.read(document.path, length=len(raw) + 1) == raw
    except UnsafePathError as error:
        raise refuse(writer, document.path, why=error.why) from error


def replace(writer: Writer, document: Document) -> None:
    """Write one's own file anew.

    Raises:
        WriteError: The store did not take it.
        RecordError: A value is out of bounds, so that the next start would refuse the file.
    """
    writer.put(document.path, _encode_checked(writer, document))


def list_record(reader: Reader, directory: str, *, after: str = "") -> Listing:
    """List a directory of a record.

    Args:
        reader: Of the record, or of something above it.
        directory: What to list.
        after: The path of a file in it, which need not exist: what sorts before is not listed.

    Raises:
        RecordError: A link leads outside.
        ReadError: The store did not let us list it.
    """
    try:
        return _list_after(reader, directory, after) if after else reader.list(directory)
    except UnsafePathError as error:
        raise refuse_directory(reader.location.join(directory), why=error.why) from error


def _list_after(reader: Reader, directory: str, path: str) -> Listing:
    pages: list[Page] = []
    after: str | None = path.removeprefix(f"{directory}/")
    while after is not None:
        pages.append(reader.list_after(directory, after))
        after = pages[-1].next_after
    return Listing(
        files=tuple(info for page in pages for info in page.files),
        directories=tuple(name for page in pages for name in page.directories),
    )


def find_names(
    reader: Reader, directory: str, name: re.Pattern[str], *, after: str = ""
) -> list[re.Match[str]]:
    """Return the files of a directory whose name matches; other names are not Holdfast's.

    Args:
        reader: Of the record, or of something above it.
        directory: What to list.
        name: What the name of a file must be.
        after: The path of a file in it, which need not exist: what sorts before is not listed.

    Raises:
        RecordError: A directory has such a name, and no file could be made there.
        ReadError: The store did not let us list it.
    """
    listing = list_record(reader, directory, after=after)
    for each in filter(name.fullmatch, listing.directories):
        path = f"{directory}/{each}"
        raise refuse(reader, path, why="It is a directory, not a file.", is_directory=True)
    names = (info.path.rpartition("/")[2] for info in listing.files)
    return [found for found in map(name.fullmatch, names) if found]


def _encode_checked(writer: Writer, document: Document) -> bytes:
    try:
        raw = encode(document)
        msgspec.json.decode(raw, type=type(document))
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise RecordError(
            writer.location.join(document.path),
            why=f"Holdfast could not read it again: {str(error)[:_SHOWN]}.",
            how="Nothing was written; shorten the value, or leave out its control characters.",
        ) from error
    return raw


def _parse(raw: bytes) -> dict[str, object]:
    """Return the object in a file.

    Raises:
        ValueError: It is not one JSON object, or names a key twice: readers would disagree on it.
        RecursionError: It is nested too deeply.
    """
    found = json.loads(raw.decode(), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    if not isinstance(found, dict):
        raise ValueError("expected one JSON object")  # noqa: TRY004 - one kind of error for content
    return found


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _check_version(reader: Reader, path: str, found: dict[str, object], *, known: int) -> None:
    if "format" not in found:
        raise ValueError("there is no format")
    version = found.get("version")
    if isinstance(version, int) and version > known:
        raise RecordError(
            reader.location.join(path),
            why=f"It is of version {str(version)[:_SHOWN]}; this Holdfast knows {known}.",
            how="Use the Holdfast that wrote it, or a newer one. If none wrote it, move it aside."
            f" {STOPPED} Then run:",
            repair=move_aside(reader.location.join(path)),
        )


@cache
def _version_of(kind: type[Document]) -> int:
    fields = {field.name: field.default for field in msgspec.structs.fields(kind)}
    return int(fields["version"])
