"""Generations: which checkpoint a stream runs on, and why. The highest number is current.

A generation that Holdfast opened has its checkpoint at the place that root, stream and number give,
and nowhere else. Only an adopted one may be anywhere, and nothing is ever created there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from holdfast.errors import LocationError
from holdfast.record.bounds import (
    MAX_GENERATION,
    BatchNumber,
    GenerationNumber,
    PathText,
    Source,
    Text,
    Timestamp,
    Uuid,
    Word,
)
from holdfast.record.documents import (
    STOPPED,
    Document,
    RecordError,
    create,
    find_names,
    read_document,
    refuse,
)
from holdfast.record.layout import GENERATIONS, generation_path
from holdfast.record.repair import move_aside
from holdfast.storage.local import is_same_place
from holdfast.storage.location import Location, parse_location
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer

OPENED, ADOPTED = "opened", "adopted"
RESET, REWOUND, CLONED, MOVED, UNDONE = "reset", "rewound", "cloned", "moved", "undone"
RETIRED = "retired"
"""By a plan. An undone one goes back to the checkpoint of an earlier generation."""
_NAME = re.compile(r"([0-9]{4,})\.json")


class Generation(Document, frozen=True, kw_only=True, tag="holdfast.generation"):
    """One life of a stream: from its opening, an adoption or a reset to the next."""

    number: GenerationNumber
    checkpoint: PathText
    """Its location; an adopted one may be anywhere."""
    query_id: Uuid
    first_batch: BatchNumber
    """The first batch that is ours: 0, or where an adopted query stood."""
    why: Word
    """`opened`, `adopted`, or the goal of the plan that opened it."""
    opened_at: Timestamp
    began: Source = ""
    """Where it begins to read, as canonical JSON; empty: at the beginning of its sources."""
    kept: Annotated[dict[Text, Source], Meta(max_length=10_000)] = msgspec.field(
        default_factory=dict
    )
    """Of a reset that kept rows: by the label of a sink, up to where that sink held the stream."""
    was: Word | None = None
    """Of a moved or an undone one: why its checkpoint was opened at first."""

    @property
    def opened_as(self) -> str:
        """Why it was opened, wherever it is now."""
        return self.was if self.why == MOVED and self.was is not None else self.why

    @property
    def made_as(self) -> str:
        """Why its checkpoint was made, by whichever generation it was opened at first."""
        return self.why if self.was is None else self.was

    @property
    def path(self) -> str:
        """Where it belongs in the record."""
        return generation_path(self.number)

    @property
    def begins_anew(self) -> int:
        """The first generation whose queries this one has to fit: after a reset, itself."""
        return self.number if self.why == RESET else 1


def read_generations(reader: Reader, *, below: str = "") -> Iterator[Generation]:
    """Yield every generation of a stream, oldest first.

    Args:
        reader: Of the stream's record, or of something above it.
        below: The path from there to the record, ending in `/`.

    Raises:
        ReadError, RecordError: One cannot be read, or one is missing.
    """
    for number in range(1, newest_generation(reader, below=below) + 1):
        generation = _read(reader, number, below=below)
        if generation is not None:
            yield generation


def current_generation(reader: Reader) -> Generation | None:
    """Return the newest generation; None when the stream was never opened.

    Raises:
        ReadError, RecordError: It cannot be read, or one before it is missing.
    """
    newest = newest_generation(reader)
    return _read(reader, newest, below="") if newest else None


def open_generation(writer: Writer, generation: Generation) -> bool:
    """Write a generation down; False when another driver has opened that number."""
    return create(writer, generation)


def check_checkpoint(reader: Reader, generation: Generation, own: Location) -> None:
    """Refuse a generation whose checkpoint is not where the layout puts it.

    Args:
        reader: Of the stream's record.
        generation: The current one.
        own: The checkpoint of that number below the root.

    Raises:
        RecordError: It is elsewhere, and was not adopted.
    """
    if generation.why == RETIRED:
        raise RecordError(
            reader.location.join(generation.path),
            what="The stream was not started: it was retired.",
            why=f"It ended for good on {generation.opened_at}, and its sinks take no more of it.",
            how="Give a new stream a name of its own.",
        )
    place = parse_location(generation.checkpoint)
    if generation.why == ADOPTED or is_same_place(place, own):
        return
    if generation.why == UNDONE and any(
        is_same_place(parse_location(each.checkpoint), place)
        for each in read_generations(reader)
        if each.number < generation.number
    ):
        return
    raise refuse_generation(
        reader,
        generation,
        why=f"It names the checkpoint {generation.checkpoint}; below this root it must be {own}.",
    )


def refuse_generation(reader: Reader, generation: Generation, *, why: str) -> RecordError:
    """Return the error of a generation that the stream cannot run on."""
    location = reader.location.join(generation.path)
    return RecordError(
        location,
        why=why,
        how="If the file was forged, move it aside. If the root or the checkpoint was moved, move "
        "the file aside too, and start once with checkpoint= and the checkpoint's place. "
        f"{STOPPED} Then run:",
        repair=move_aside(location),
    )


def newest_generation(reader: Reader, *, below: str = "") -> int:
    """Return the newest number, 0 without any: they are given out one by one, so none is missing.

    Args:
        reader: Of the stream's record, or of something above it.
        below: The path from there to the record, ending in `/`.

    Raises:
        ReadError, RecordError: They cannot be listed, or one is missing.
    """
    found = find_names(reader, below + GENERATIONS, _NAME)
    numbers = {int(each[1]) for each in found if f"{int(each[1]):04d}" == each[1]}
    newest = max(numbers, default=0)
    if newest > MAX_GENERATION:
        path = below + generation_path(newest)
        raise refuse(reader, path, why=f"The largest generation is {MAX_GENERATION}.")
    missing = sorted(set(range(1, newest)) - numbers)
    if missing:
        why = f"Generations are opened one by one, and {generation_path(missing[0])} is not there."
        raise refuse(reader, below + generation_path(newest), why=why)
    return newest


def _read(reader: Reader, number: int, *, below: str) -> Generation | None:
    path = generation_path(number)
    generation = read_document(reader, path, Generation, below=below)
    if generation is None:
        return None
    if generation.why == ADOPTED and number != 1:
        raise refuse(reader, below + path, why="Only generation 1 can be an adopted checkpoint.")
    try:
        parse_location(generation.checkpoint)
    except LocationError as error:
        raise refuse(reader, below + path, why=error.why) from error
    return generation
