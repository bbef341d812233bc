"""Files between two entries of a file source's log, and how they are read again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from holdfast.checkpoint.layout import SOURCES, Kind, parse_name
from holdfast.checkpoint.sources.files import FileEntry, parse_file_log
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.sources.kind import Offset
from holdfast.sources.ranges import SourceRange
from holdfast.sources.reading import Make, NoBatchForm, Opening
from holdfast.storage.read import Reader, read_chunks

MOST_FILES = 200_000
"""More files than this are not read by one batch job: the driver lists each of them."""
_FILES_ONLY_STREAMING = (
    *("path", "basepath", "maxfilespertrigger", "maxbytespertrigger", "latestfirst", "maxfileage"),
    *("filenameonly", "cleansource", "sourcearchivedir", "maxcachedfiles"),
    *("discardcachedinputratio",),
)
_GLOB = frozenset("*?[]{}\\")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRange(SourceRange):
    """The files that a file source gave, each once, in the order of their paths."""

    files: tuple[str, ...]
    """As Hadoop takes them: not percent-encoded."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it."""
        return not self.files

    def given(self, end: Offset) -> tuple[object, object]:
        """Return the first entry of the log, and the one after the last."""
        return 0, (end.log_index or 0) + 1

    def merge(self, others: Sequence[SourceRange]) -> Sequence[SourceRange]:
        """Return every file once."""
        files = {path for each in others if isinstance(each, FileRange) for path in each.files}
        return [FileRange(files=tuple(sorted(files)))]

    def open(self, opening: Opening) -> Make | NoBatchForm:
        """Read the files with the reader of their format."""
        reading = opening.reading
        if reading.path is None:
            return NoBatchForm("the checkpoint has a log of files, and the code reads no files")
        reader = opening.spark.read
        if reading.format is not None:
            reader = reader.format(reading.format)
        if reading.schema is not None:
            reader = reader.schema(reading.schema)
        options = {**reading.without(_FILES_ONLY_STREAMING), "__globPaths__": "false"}
        if not _GLOB.intersection(reading.path):
            options["basePath"] = reading.path  # as Spark's file source does, for partition columns
        return lambda: reader.options(**options).load(list(self.files))


def file_range(
    reader: Reader, source: str, *, start: Offset | None, end: Offset
) -> FileRange | str:
    """Return the files between two offsets; a text says why they are not known."""
    before = -1 if start is None else start.log_index
    assert before is not None
    assert end.log_index is not None
    return _files(reader, source, range(before + 1, end.log_index + 1))


def _files(reader: Reader, source: str, numbers: range) -> FileRange | str:
    home = _home(reader, source)
    if home is None:
        return "it has no log of files: a stream that is used twice has one for both"
    files: set[str] = set()
    seen: set[int] = set()
    for entry in _entries(reader, home, numbers):
        if isinstance(entry, Unparsed):
            return f"{entry.path}: {entry.reason}"
        if entry.log_offset not in numbers:
            continue
        seen.add(entry.log_offset)
        files.add(unquote(entry.path))
        if len(files) > MOST_FILES:
            return f"it has more than {MOST_FILES:,} files, too many for one batch job"
    missing = next((number for number in numbers if number not in seen), None)
    if missing is not None:
        return f"entry {missing} of its log of files is not there"
    return FileRange(files=tuple(sorted(files)))


def read_file_numbers(reader: Reader, source: str, numbers: range) -> dict[str, int] | str:
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
        return "it has no log of files"
    found: dict[str, int] = {}
    for entry in _entries(reader, home, numbers):
        if isinstance(entry, Unparsed):
            return f"{entry.path}: {entry.reason}"
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
