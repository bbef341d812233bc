"""The form of Holdfast's own files: one JSON object with `format` and `version`, made once.

Whoever makes a file does it by put-if-absent; nobody replaces another's. A version that is newer
than the one known here is refused: an older Holdfast must not judge what it does not understand.
Fields that are not known are ignored when read.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from holdfast.errors import HoldfastError
from holdfast.storage.location import Location
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer


class RecordError(HoldfastError):
    """A file of the record is not what Holdfast writes."""

    code = "RECORD"

    def __init__(self, location: Location, *, why: str, how: str) -> None:
        self.location = location
        super().__init__(
            what=f"The record of the stream cannot be used: {location}.", why=why, how=how
        )


class Document(msgspec.Struct, frozen=True, kw_only=True, tag_field="format"):
    """A file of the record; a subclass names its `format` by its tag."""

    version: int = 1


D = TypeVar("D", bound=Document)


class _Head(msgspec.Struct):
    format: str
    version: int


def encode(document: Document) -> bytes:
    """Return the bytes of a document, readable by people."""
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def read_document(reader: Reader, path: str, kind: type[D]) -> D | None:
    """Read a document; None when it is not there.

    Raises:
        RecordError: It is there and is not one, or is of a newer version.
        ReadError: The store did not let us read it.
    """
    raw = reader.read(path)
    if raw is None:
        return None
    place = reader.location.join(path)
    try:
        head = msgspec.json.decode(raw, type=_Head)
        if head.version > _version_of(kind):
            raise RecordError(
                place,
                why=f"It is of version {head.version}; this Holdfast knows {_version_of(kind)}.",
                how="Use the Holdfast that wrote it, or a newer one.",
            )
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise RecordError(
            place,
            why=f"It is not what Holdfast writes there: {error}.",
            how="Restore it from a backup of the bucket; nothing else changes these files.",
        ) from error


def create(writer: Writer, path: str, document: Document) -> bool:
    """Make a file once; False when somebody else's is there.

    A request whose answer was lost may have made it: what is there is compared with ours.

    Raises:
        WriteError: The store did not answer; whether the file was made is then not known.
    """
    raw = encode(document)
    return writer.put_if_absent(path, raw) or writer.read(path) == raw


def _version_of(kind: type[Document]) -> int:
    fields = {field.name: field.default for field in msgspec.structs.fields(kind)}
    return int(fields["version"])
