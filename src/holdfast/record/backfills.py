"""Backfills of a stream: each has a record of its own below the stream's.

    backfills/readings-backfill-7c1f04ab/backfill.json     which range, in how many chunks
    backfills/readings-backfill-7c1f04ab/leases/…          as in the record of a stream

The file is made once. A backfill that goes on reads the range from it, so that `earliest` is the
same offset as when it began.
"""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

from holdfast.record.bounds import GenerationNumber, Line, Names, Source, Timestamp
from holdfast.record.documents import Document, list_record, read_document
from holdfast.record.layout import BACKFILLS, changing_name, is_stream_name
from holdfast.storage.read import Reader

FILE = "backfill.json"
_LONGEST = 63
_HEX = 8
_NAME = re.compile(r"-backfill-[0-9a-f]{8}\Z")
MAX_CHUNKS = (1 << 31) - 1
"""As many as the transaction version of a Delta commit can carry."""


class Backfill(Document, frozen=True, kw_only=True, tag="holdfast.backfill"):
    """A range of a stream's sources, as it was when the backfill began."""

    stream: Line
    generation: GenerationNumber
    """The stream's, when the backfill began."""
    start: Source
    """The position it begins at, as canonical JSON."""
    end: Source
    """The position it ends before."""
    chunks: Annotated[int, Meta(ge=1, le=MAX_CHUNKS)]
    sinks: Names
    """The label of each."""
    began_at: Timestamp

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return FILE


def backfill_name(stream: str, digest: str) -> str:
    """Return the name of a backfill in the ledger: a stream's name with part of a digest.

    A part that reads as a date is not used, because the name of a stream must not hold one.
    """
    parts = (f"-backfill-{digest[at : at + _HEX]}" for at in range(len(digest) - _HEX))
    ending = next(part for part in parts if changing_name(part) is None)
    return stream[: _LONGEST - len(ending)].rstrip("-") + ending


def is_backfill_name(name: str) -> bool:
    """Return whether a name is that of a backfill in the ledger."""
    return _NAME.search(name) is not None


def read_backfill(reader: Reader) -> Backfill | None:
    """Return what a backfill's record says of its range; None when it has not begun.

    Raises:
        ReadError, RecordError: It cannot be read.
    """
    return read_document(reader, FILE, Backfill)


def read_backfills(record: Reader) -> dict[str, Backfill]:
    """Return every backfill of a stream that has begun, by its name.

    Args:
        record: Of the stream.

    Raises:
        ReadError, RecordError: One cannot be read.
    """
    found = {}
    for name in list_record(record, BACKFILLS).directories:
        if not is_stream_name(name):
            continue
        each = read_document(record, FILE, Backfill, below=f"{BACKFILLS}/{name}/")
        if each is not None:
            found[name] = each
    return found
