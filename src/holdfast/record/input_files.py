"""Which files the file sources of a stream have read: kept beside the ledger, batch by batch.

    inputs/0001-000000000041.log        what batch 41 of generation 1 read
    inputs/0001-000000000999.merged     what batches 0 to 999 read

A ledger row says how far a file source was read by a number, which means nothing without the log in
the checkpoint. So each batch keeps its part of that log here, before it goes to a sink, and a
checkpoint that was deleted can be given back. A start merges what has become many files.

Each line is one file, as JSON: the source, the number in its log, the modification time, the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from holdfast.errors import WriteError
from holdfast.record.documents import list_record
from holdfast.record.layout import INPUTS
from holdfast.storage.read import Reader, read_chunks
from holdfast.storage.write import Writer

MOST_FILES = 1_000
"""From so many on a start merges them."""


class InputFile(NamedTuple):
    """One file that a source has read."""

    log_offset: int
    """The number of its entry in the source's log."""
    timestamp_ms: int
    path: str


_NAME = re.compile(r"([0-9]{4,})-([0-9]{12,})\.(log|merged)")
_Line = tuple[str, int, int, str]
_DECODER = msgspec.json.Decoder(_Line)


def keep_input_files(
    writer: Writer, files: Mapping[str, Sequence[InputFile]], *, generation: int, batch: int
) -> None:
    """Write down what a batch reads; nothing without file sources.

    A batch that no sink has taken can be planned again with other files: those count then.

    Raises:
        WriteError: The store did not take it.
    """
    path, content = input_log_path(generation, batch), encode_input_files(files)
    if content and not writer.put_if_absent(path, content) and writer.read(path) != content:
        writer.put(path, content)


def input_log_path(generation: int, batch: int) -> str:
    """Return where it is kept what a batch reads."""
    return _path(generation, batch, "log")


def encode_input_files(files: Mapping[str, Sequence[InputFile]]) -> bytes:
    """Return what is kept of the files that a batch reads, by source; empty without any."""
    lines = [
        msgspec.json.encode((source, *each))
        for source, entries in sorted(files.items())
        for each in entries
    ]
    return b"\n".join(lines) + b"\n" if lines else b""


def read_input_files(reader: Reader, *, generation: int, source: str) -> Iterator[InputFile]:
    """Yield every file that a source has read, as far as that was kept; each once.

    A line that is not one of ours says nothing.

    Raises:
        ReadError, RecordError: The record cannot be read.
    """
    seen: set[tuple[int, str]] = set()
    for found in _valid(reader, _list(reader, generation)):
        if found[0] == source and (found[1], found[3]) not in seen:
            seen.add((found[1], found[3]))
            yield InputFile(*found[1:])


def merge_input_files(writer: Writer, *, generation: int) -> None:
    """Put many files into one, and remove them once it is there.

    Raises:
        ReadError, WriteError: The store did not answer; what was kept is still there.
    """
    paths = _list(writer, generation)
    if len(paths) <= MOST_FILES:
        return
    lines = dict.fromkeys(map(msgspec.json.encode, _valid(writer, paths)))
    newest = max(int(_numbers(path)[1]) for path in paths)
    merged, content = _path(generation, newest, "merged"), b"\n".join(lines) + b"\n"
    writer.put(merged, content)
    if writer.read(merged) != content:
        raise WriteError(
            str(writer.location.join(merged)),
            why="The store returned other bytes than were written.",
            how="Make sure that nothing else writes there.",
        )
    for path in paths:
        if path != merged:
            writer.delete(path)


def _valid(reader: Reader, paths: Sequence[str]) -> Iterator[_Line]:
    """Yield every line that counts: a batch's own file says more than what was merged before it."""
    own: set[tuple[str, int]] = set()
    for path in sorted(paths, key=lambda each: (each.endswith(".merged"), each)):
        is_merged = path.endswith(".merged")
        for found in filter(None, map(_parse, _lines(reader, path))):
            if not is_merged:
                own.add(found[:2])
            if not is_merged or found[:2] not in own:
                yield found


def _path(generation: int, batch: int, ending: str) -> str:
    return f"{INPUTS}/{generation:04d}-{batch:012d}.{ending}"


def _numbers(path: str) -> tuple[str, str]:
    found = _NAME.fullmatch(path.rpartition("/")[2])
    assert found is not None
    return found[1], found[2]


def _list(reader: Reader, generation: int) -> list[str]:
    paths = (info.path for info in list_record(reader, INPUTS).files)
    named = (path for path in paths if _NAME.fullmatch(path.rpartition("/")[2]))
    return sorted(path for path in named if int(_numbers(path)[0]) == generation)


def _lines(reader: Reader, path: str) -> Iterator[bytes]:
    rest = b""
    for chunk in read_chunks(reader, path):
        *complete, rest = (rest + chunk).split(b"\n")
        yield from complete
    if rest:
        yield rest


def _parse(line: bytes) -> _Line | None:
    try:
        found: _Line = _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return found
