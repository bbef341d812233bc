"""What a stream reads between two positions, source by source: exact, or why it is not known.

A position is the offsets of every source as canonical JSON, as a ledger row and `read_coverage`
have them. Before the first batch it is `{}`; then where each source began is read from the
checkpoint: Kafka keeps it in `sources/<i>/0`, Delta and file sources begin at their beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from holdfast.checkpoint.layout import SOURCES, Kind, parse_name
from holdfast.checkpoint.sources import Offset, OpaqueOffset, parse_offset
from holdfast.checkpoint.sources.delta import DeltaOffset
from holdfast.checkpoint.sources.files import FileEntry, FileOffset, parse_file_log
from holdfast.checkpoint.sources.kafka import KafkaOffset, Partitions
from holdfast.checkpoint.sources.kafka import parse_initial_offset as parse_kafka_beginning
from holdfast.checkpoint.text import parse_json_object
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.ledger.coverage import canonical
from holdfast.storage.read import Reader, read_chunks

MOST_FILES = 200_000
"""More files than this are not read by one batch job: the driver lists each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaRange:
    """Per topic and partition, the offsets from start up to but not including end."""

    start: Partitions
    end: Partitions
    """Of the same topics and partitions."""

    @property
    def records(self) -> int:
        """How many offsets it spans; a topic with transactions has fewer records."""
        return sum(
            offset - self.start[topic][partition]
            for topic, offsets in self.end.items()
            for partition, offset in offsets.items()
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it."""
        return self.records == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaRange:
    """The rows that a table got after one position, up to another."""

    table_id: str
    after: int
    """The last version whose rows are not in it; -1 when it begins with the whole table."""
    through: int
    """The last version whose rows are in it; -1 when it holds nothing."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it."""
        return self.through <= self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRange:
    """The files that a file source gave, each once, in the order of their paths."""

    files: tuple[str, ...]
    """As Hadoop takes them: not percent-encoded."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it."""
        return not self.files


SourceRange = KafkaRange | DeltaRange | FileRange


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRange:
    """It is not known what a source gave between two positions."""

    source: str
    """Its number in the checkpoint, or its name; empty when it concerns all."""
    reason: str

    def __str__(self) -> str:
        return f"source {self.source}: {self.reason}" if self.source else self.reason


Ranges = Mapping[str, SourceRange]
"""By a source's number in the checkpoint (`0`), or its name."""


def read_ranges(reader: Reader, *, start: str, end: str) -> Ranges | NoRange:
    """Return what each source gives between two positions.

    Args:
        reader: Of the checkpoint.
        start: Where to begin; `{}` is before the first batch.
        end: Where to end.

    Raises:
        ReadError: A directory of the checkpoint cannot be listed.
    """
    begins, ends = parse_json_object(start), parse_json_object(end)
    if begins is None or ends is None:
        return NoRange(source="", reason="its offsets are not a JSON object")
    found: dict[str, SourceRange] = {}
    for source, value in ends.items():
        before = None if begins.get(source) is None else _offset(begins[source])
        each = _range(reader, source, before, end=_offset(value))
        if isinstance(each, NoRange):
            return each
        found[source] = each
    return found


def _offset(value: object) -> Offset:
    return parse_offset(value if isinstance(value, str) else canonical(value))


def _range(
    reader: Reader, source: str, start: Offset | None, *, end: Offset
) -> SourceRange | NoRange:
    if start is not None and type(start) is not type(end):
        return NoRange(source=source, reason="its offsets at the start are of another kind")
    match end:
        case KafkaOffset():
            return _kafka(reader, source, start, end=end)
        case DeltaOffset():
            return _delta(source, start, end)
        case FileOffset():
            first = start.log_offset + 1 if isinstance(start, FileOffset) else 0
            return _files(reader, source, range(first, end.log_offset + 1))
        case OpaqueOffset():
            reason = "Holdfast does not know the kind of this source"
        case _:
            kind = type(end).__name__.removesuffix("Offset")
            reason = f"a range of a source of this kind ({kind}) cannot be read again"
    return NoRange(source=source, reason=reason)


def _kafka(
    reader: Reader, source: str, start: Offset | None, *, end: KafkaOffset
) -> KafkaRange | NoRange:
    begins: Offset | Unparsed | None = start
    if begins is None:
        path = f"{SOURCES}/{source}/0"
        raw = read_whole(reader, path)
        begins = parse_kafka_beginning(path, raw) if isinstance(raw, bytes) else raw
    if not isinstance(begins, KafkaOffset):
        why = begins.reason if isinstance(begins, Unparsed) else "it is not there"
        return NoRange(
            source=source, reason=f"where it began is not known: {SOURCES}/{source}/0: {why}"
        )
    known: dict[str, dict[int, int]] = {}
    for topic, offsets in end.partitions.items():
        before = begins.partitions.get(topic, {})
        # A partition that was added later is read from its beginning, which is 0.
        known[topic] = {partition: before.get(partition, 0) for partition in offsets}
        for partition, offset in offsets.items():
            if offset < known[topic][partition]:
                reason = (
                    f"partition {partition} of {topic} ends at {offset:,}, before it begins at "
                    f"{known[topic][partition]:,}: it was deleted and created again"
                )
                return NoRange(source=source, reason=reason)
    return KafkaRange(start=known, end=end.partitions)


def _delta(source: str, start: Offset | None, end: DeltaOffset) -> DeltaRange | NoRange:
    for each in (start, end):
        if isinstance(each, DeltaOffset) and each.index >= 0:
            where = "the first snapshot" if each.initial_snapshot else f"version {each.version}"
            return NoRange(
                source=source, reason=f"it ends inside {where} of the table, after some files of it"
            )
    if isinstance(start, DeltaOffset) and start.table_id != end.table_id:
        return NoRange(source=source, reason="the table was replaced in between")
    after = start.version - 1 if isinstance(start, DeltaOffset) else -1
    if isinstance(start, DeltaOffset) and start.initial_snapshot:
        after = -1
    # Nothing of the first snapshot is read before its first file.
    through = -1 if end.initial_snapshot else end.version - 1
    return DeltaRange(table_id=end.table_id, after=after, through=through)


def _files(reader: Reader, source: str, numbers: range) -> FileRange | NoRange:
    home = _home(reader, source)
    if home is None:
        reason = "it has no log of files: a stream that is used twice has one for both"
        return NoRange(source=source, reason=reason)
    files: set[str] = set()
    seen: set[int] = set()
    for entry in _entries(reader, home, numbers):
        if isinstance(entry, Unparsed):
            return NoRange(source=source, reason=f"{entry.path}: {entry.reason}")
        if entry.log_offset not in numbers:
            continue
        seen.add(entry.log_offset)
        files.add(unquote(entry.path))
        if len(files) > MOST_FILES:
            reason = f"it has more than {MOST_FILES:,} files, too many for one batch job"
            return NoRange(source=source, reason=reason)
    missing = next((number for number in numbers if number not in seen), None)
    if missing is not None:
        return NoRange(source=source, reason=f"entry {missing} of its log of files is not there")
    return FileRange(files=tuple(sorted(files)))


def read_file_numbers(reader: Reader, source: str, numbers: range) -> dict[str, int] | NoRange:
    """Return by which number of its log a file source gave each file.

    Args:
        reader: Of the checkpoint.
        source: Its number in the checkpoint, or its name.
        numbers: Of the log.

    Raises:
        ReadError: A directory of the checkpoint cannot be listed.
    """
    home = _home(reader, source)
    if home is None:
        return NoRange(source=source, reason="it has no log of files")
    found: dict[str, int] = {}
    for entry in _entries(reader, home, numbers):
        if isinstance(entry, Unparsed):
            return NoRange(source=source, reason=f"{entry.path}: {entry.reason}")
        if entry.log_offset in numbers:
            found.setdefault(entry.path, entry.log_offset)
    return found


def _home(reader: Reader, source: str) -> str | None:
    """Return the directory of a source's log; None when that is not clear."""
    directories = reader.list(SOURCES).directories
    if source in directories:
        return f"{SOURCES}/{source}"
    # A stream joined with itself has two lines and one directory.
    return f"{SOURCES}/{directories[0]}" if len(directories) == 1 else None


def _entries(reader: Reader, home: str, numbers: range) -> Iterator[FileEntry | Unparsed]:
    """Yield the log's entries from the newest compact file on, which holds all before it."""
    names = [parse_name(info.path) for info in reader.list(home).files]
    compacts = [
        each.batch_id for each in names if each.kind is Kind.COMPACT and each.batch_id is not None
    ]
    newest = max(compacts, default=-1)
    if newest >= 0:
        path = f"{home}/{newest}.compact"
        yield from parse_file_log(path, read_chunks(reader, path))
    for each in names:
        number = each.batch_id
        if each.kind is Kind.ENTRY and number is not None and number > newest and number in numbers:
            path = f"{home}/{number}"
            yield from parse_file_log(path, read_chunks(reader, path))
