"""Positions in the sources of a stream: written by people, compared, cut into chunks.

A position has the offset of every source that a backfill reads, by its number in the checkpoint or
its name. A range has two: it begins at the first and ends before the second.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping

from holdfast.checkpoint.text import canonical, parse_json, parse_json_object
from holdfast.errors import ConfigError
from holdfast.sources.kind import Offset, Part
from holdfast.sources.registry import parse_offset

EARLIEST = "earliest"
Position = Mapping[str, Offset]


def decode_position(text: str) -> Position | None:
    """Return the position that canonical JSON has; None when a source is of another kind."""
    found: dict[str, Offset] = {}
    for source, value in (parse_json_object(text) or {}).items():
        offset = parse_offset(value if isinstance(value, str) else canonical(value))
        if not offset.kind.per_chunk:
            return None
        found[source] = offset
    return found or None


def encode_position(position: Position) -> str:
    """Return a position as canonical JSON, as a ledger row has it."""
    return canonical({source: offset.to_json() for source, offset in position.items()})


def parse_position(option: str, text: str, known: Position) -> Position:
    """Return the position that somebody wrote.

    Args:
        option: What the text was given as, for the error.
        text: Kafka offsets as JSON, a number of a Delta version or an entry of a file log, or an
            object with one of these for each source.
        known: Where the stream is.

    Raises:
        ConfigError: It is none of these, or does not fit the sources.
    """
    value = parse_json(text)
    if len(known) == 1:
        (source,) = known
        offset = known[source].kind.parse_position(value, known[source])
        if offset is not None:
            return {source: offset}
    if isinstance(value, dict) and value and set(value) <= set(known):
        offsets = {
            source: known[source].kind.parse_position(each, known[source])
            for source, each in value.items()
        }
        if (found := {key: each for key, each in offsets.items() if each is not None}) == offsets:
            return found
    raise ConfigError(f"{option} {text!r} is not a position of this stream: {_form(known)}")


def _form(known: Position) -> str:
    forms = {source: offset.kind.example(offset) for source, offset in known.items()}
    if len(forms) == 1:
        (form,) = forms.values()
        return f"write {form}, or earliest for the start."
    shown = ", ".join(f'"{source}": {form}' for source, form in forms.items())
    return f"it has {len(known)} sources, write {{{shown}}}."


def beginning(known: Position, earliest: Mapping[str, Mapping[Part, int]]) -> Position:
    """Return the oldest position of each source.

    Args:
        known: Where the stream is.
        earliest: The oldest numbers of each source that was asked; others begin at 0.
    """
    return {
        source: offset.at(earliest.get(source, dict.fromkeys(offset.numbers(), 0)))
        for source, offset in known.items()
    }


def like(position: Position, other: Position) -> Position:
    """Return of a position only the sources and parts that another one has."""
    return {
        source: offset.at(
            {part: at for part, at in offset.numbers().items() if part in other[source].numbers()}
        )
        for source, offset in position.items()
        if source in other
    }


def find_fault(start: Position, end: Position) -> str | None:
    """Say why two positions are not a range; None when they are."""
    if set(start) != set(end):
        return "start and end name different sources"
    before, after = dict(_numbers(start)), dict(_numbers(end))
    if different := sorted(set(before) ^ set(after)):
        return f"start and end do not both name {_shown(different[0])}"
    if backwards := [key for key, at in after.items() if at < before[key]]:
        key = backwards[0]
        return f"{_shown(key)} ends at {after[key]:,}, before its start {before[key]:,}"
    return None if before != after else "it is empty: it ends where it begins"


Key = tuple[str, Part]
"""A source and a part of it."""


def _numbers(position: Position) -> Iterator[tuple[Key, int]]:
    for source, offset in position.items():
        yield from (((source, part), at) for part, at in offset.numbers().items())


def _shown(key: Key) -> str:
    source, (topic, partition) = key
    return f"partition {partition} of {topic}" if topic else f"source {source}"


def sizes(start: Position, end: Position) -> dict[str, int]:
    """Return how much of each source is in a range: offsets, versions, entries of a file log."""
    before = dict(_numbers(start))
    found = dict.fromkeys(end, 0)
    for key, at in _numbers(end):
        found[key[0]] += at - before[key]
    return found


def total(start: Position, end: Position) -> int:
    """Return how much a range has, over all sources."""
    return sum(sizes(start, end).values())


def count_chunks(start: Position, end: Position, chunk: int | None) -> int:
    """Return into how many chunks a range is cut.

    Args:
        start: Of the range.
        end: Of the range.
        chunk: How much of each source a chunk has at most; None for what suits the source.
    """
    most = 1
    for source, size in sizes(start, end).items():
        most = max(most, -(-size // (chunk or end[source].kind.per_chunk)))
    return most


def boundary(start: Position, end: Position, *, number: int, chunks: int) -> Position:
    """Return where a chunk begins, and the one before it ends."""
    found = {}
    for source, offset in end.items():
        if type(start[source]) is not type(offset):
            raise TypeError(f"{start[source]} and {offset} are of different kinds")
        begins = start[source].numbers()
        found[source] = offset.at(
            {
                part: begins[part] + (at - begins[part]) * number // chunks
                for part, at in offset.numbers().items()
            }
        )
    return found


def overlaps(start: Position, end: Position, *, other: tuple[Position, Position]) -> bool:
    """Return whether two ranges have something in common."""
    before, after = dict(_numbers(other[0])), dict(_numbers(other[1]))
    begins = dict(_numbers(start))
    return any(
        max(begins[key], before[key]) < min(at, after[key])
        for key, at in _numbers(end)
        if key in after and key in before
    )


def is_before(start: Position, end: Position, *, began: Position) -> bool:
    """Return whether a range ends before a stream began, in every partition that it reads."""
    begins, limits = dict(_numbers(start)), dict(_numbers(began))
    # A partition that the stream did not begin with was added later, and is read from its start.
    return all(at <= limits.get(key, 0) for key, at in _numbers(end) if begins[key] < at)


def digest_of(*parts: str) -> str:
    """Return a digest of texts."""
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


def as_text(position: str | int | Mapping[str, object]) -> str:
    """Return a position as the command takes it."""
    return position if isinstance(position, str) else json.dumps(position)
