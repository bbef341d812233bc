"""Generations: which checkpoint a stream runs on, and why. The highest number is current."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.record.documents import Document, create, read_document
from holdfast.record.layout import GENERATIONS, generation_path
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

OPENED, ADOPTED = "opened", "adopted"
_FILE = re.compile(r"(?:.*/)?generations/([0-9]{4,})\.json")


class Generation(Document, frozen=True, kw_only=True, tag="holdfast.generation"):
    """One life of a stream: from its opening, an adoption or a reset to the next."""

    number: int
    checkpoint: str
    """Its location; an adopted one may be anywhere."""
    query_id: str
    first_batch: int
    """The first batch that is ours: 0, or where an adopted query stood."""
    why: str
    """`opened`, `adopted`, or what asked for a reset."""
    opened_at: str


def read_generations(reader: Reader, *, below: str = "") -> Iterator[Generation]:
    """Yield every generation of a stream, oldest first.

    Args:
        reader: Of the stream's record, or of something above it.
        below: The path from there to the record, ending in `/`.

    Raises:
        ReadError, RecordError: One cannot be read.
    """
    matched = (_FILE.fullmatch(info.path) for info in reader.list(below + GENERATIONS).files)
    for number in sorted(int(each[1]) for each in matched if each):
        generation = read_document(reader, below + generation_path(number), Generation)
        if generation is not None:
            yield generation


def current_generation(reader: Reader) -> Generation | None:
    """Return the newest generation; None when the stream was never opened."""
    newest = None
    for newest in read_generations(reader):  # noqa: B007 - the last one is wanted
        pass
    return newest


def open_generation(writer: Writer, generation: Generation) -> bool:
    """Write a generation down; False when somebody else has opened that number."""
    return create(writer, generation_path(generation.number), generation)
