"""What a batch covers, from the files that Spark wrote before it: its range and its digest.

The digest is the SHA-256 of canonical JSON over the start and end offsets of every source, the
entries of file sources in between (an index into their log can mean other files), the watermark and
the batch's time (batches without data differ only there). The same number with another digest is
another batch. A source without an offset is left out, so that before the first batch all is `{}`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from holdfast.checkpoint.layout import OFFSETS, SOURCES
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.checkpoint.text import canonical, parse_json
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.ids import BatchId
from holdfast.sources.registry import parse_offset
from holdfast.storage.read import FileInfo, Reader

NOTHING_READ = "{}"
"""Offsets before the first batch."""
_TAIL_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What a batch covers."""

    batch_id: BatchId
    start_offsets: str
    end_offsets: str
    digest: str
    files: Mapping[str, tuple[FileEntry, ...]] = field(default_factory=dict, compare=False)
    """What each file source gives to the batch, by source."""


def read_coverage(reader: Reader, batch_id: BatchId) -> Coverage | Unparsed:
    """Read what a batch covers; what is missing or damaged is named.

    Raises:
        ReadError: A directory of the checkpoint cannot be listed.
    """
    entry = _read_entry(reader, batch_id)
    before = _read_entry(reader, BatchId(batch_id - 1)) if batch_id > 0 else None
    for each in (entry, before):
        if isinstance(each, Unparsed):
            return each
    assert isinstance(entry, OffsetEntry)
    assert not isinstance(before, Unparsed)
    files = _read_files(reader, before, entry)
    if isinstance(files, Unparsed):
        return files
    start, end = _offsets(before), _offsets(entry)
    metadata = entry.metadata
    covered = {
        "start": start,
        "end": end,
        "files": {
            source: sorted((each.path, each.timestamp_ms) for each in entries)
            for source, entries in files.items()
        },
        "watermark": None if metadata is None else metadata.batch_watermark_ms,
        "time": None if metadata is None else metadata.batch_timestamp_ms,
    }
    return Coverage(
        batch_id=batch_id,
        start_offsets=canonical(start),
        end_offsets=canonical(end),
        digest=hashlib.sha256(canonical(covered).encode()).hexdigest(),
        files=files,
    )


def canonical_offset(text: str) -> str:
    """Return one offset, as a source or a running query writes it, in canonical form."""
    return canonical(_value(text))


def _value(text: str) -> object:
    parsed = parse_json(text)
    return text if parsed is None else parsed


def _offsets(entry: OffsetEntry | None) -> dict[str, object]:
    if entry is None:
        return {}
    return {each.source: _value(each.text) for each in entry.offsets if each.text is not None}


def _read_entry(reader: Reader, batch_id: BatchId) -> OffsetEntry | Unparsed:
    path = f"{OFFSETS}/{batch_id}"
    raw = read_whole(reader, path)
    if raw is None:
        return Unparsed(path=path, reason="it is not there")
    return raw if isinstance(raw, Unparsed) else parse_offset_entry(path, batch_id, raw)


def _read_files(
    reader: Reader, before: OffsetEntry | None, entry: OffsetEntry
) -> dict[str, tuple[FileEntry, ...]] | Unparsed:
    """Read which files each file source gives to the batch."""
    starts = {each.source: each.text for each in before.offsets} if before else {}
    files: dict[str, tuple[FileEntry, ...]] = {}
    for each in entry.offsets:
        offset = None if each.text is None else parse_offset(each.text)
        if offset is None or offset.log_index is None:
            continue
        text = starts.get(each.source)
        start = None if text is None else parse_offset(text)
        before_it = None if start is None else start.log_index
        first = 0 if before_it is None else before_it + 1
        entries: list[FileEntry] = []
        for found in _entries(reader, each.source, range(first, offset.log_index + 1)):
            if isinstance(found, Unparsed):
                return found
            entries.append(found)
        files[each.source] = tuple(entries)
    return files


def _entries(reader: Reader, source: str, numbers: range) -> Iterator[FileEntry | Unparsed]:
    """Yield the entries of a file source's log with these numbers."""
    home = source
    for number in numbers:
        found = _entry(reader, f"{SOURCES}/{home}/{number}", number)
        if found is None and home == source:
            # Listed only now: it is one request more in every batch.
            home = _shared_home(reader, source)
            found = _entry(reader, f"{SOURCES}/{home}/{number}", number)
        if found is None:
            found = iter((Unparsed(path=f"{SOURCES}/{home}/{number}", reason="it is not there"),))
        yield from found


def _shared_home(reader: Reader, source: str) -> str:
    """Return the directory of a source: a stream joined with itself has two lines and one."""
    directories = reader.list(SOURCES).directories
    return source if source in directories else (*directories, source)[0]


def _entry(reader: Reader, path: str, number: int) -> Iterator[FileEntry | Unparsed] | None:
    """Return what a file source read under one number; None when it is not there."""
    raw = read_whole(reader, path)
    if isinstance(raw, Unparsed):
        return iter((raw,))
    if raw is not None:
        return parse_file_log(path, iter((raw,)))
    info = reader.stat(f"{path}.compact")
    return None if info is None else _compacted(reader, info, number)


def _compacted(reader: Reader, info: FileInfo, number: int) -> Iterator[FileEntry | Unparsed]:
    """Yield one number's entries of its compact file: they are its last, so its end is read."""
    path = info.path
    length = _TAIL_BYTES
    while True:
        start = max(0, info.size_bytes - length)
        raw = reader.read(path, start=start, length=length) or b""
        # Cut inside a line; what is before it does not matter once an older entry is seen.
        text = raw if start == 0 else b"v1\n" + raw.partition(b"\n")[2]
        found = list(parse_file_log(path, iter((text,))))
        is_enough = start == 0 or any(
            isinstance(each, FileEntry) and each.log_offset < number for each in found[:1]
        )
        if is_enough:
            yield from (
                each for each in found if isinstance(each, Unparsed) or each.log_offset == number
            )
            return
        length *= 4


def same_offsets(running: set[str], end_offsets: str) -> bool:
    """Return whether the entry on disk says what the running query does.

    A source that a plan names twice, as a join with itself does, is one source that has two lines
    in the entry: compared are the offsets that there are, not how often.
    """
    entry = parse_json(end_offsets)
    return isinstance(entry, dict) and set(map(canonical, entry.values())) == running
