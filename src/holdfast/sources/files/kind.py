"""The file source's offset: an index into the log of every file that it has ever read.

From Spark 4.3 `sources/FileStreamSourceOffset.scala`:

    {"logOffset":7}

`checkpoint.sources.files` reads the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from holdfast.checkpoint.sources.files import parse_log_offset
from holdfast.checkpoint.text import whole_number
from holdfast.sources.kind import (
    ONLY,
    Amount,
    Behind,
    DescribedSource,
    Offset,
    Part,
    SourceKind,
    in_brackets,
)


class Files(SourceKind):
    """Files in a directory."""

    name = "files"
    label = "files"
    unit = "log entry"
    asks = "holdfast.sources.files.probe:ask_files"
    ranges = "holdfast.sources.files.ranges:file_range"
    behind = Behind.FAILS
    per_chunk = 100
    parts_unit = "entries"
    reads_from_the_first = True

    def parse(self, text: str) -> FileOffset | None:
        """Read a file source's offset."""
        log_offset = parse_log_offset(text)
        return None if log_offset is None else FileOffset(log_offset=log_offset)

    def describe_source(self, description: str) -> DescribedSource | None:
        """Read `FileStreamSource[file:/in]`."""
        path = in_brackets(description, "FileStreamSource")
        if path is None:
            return None
        return DescribedSource(name=f"FileSource[{path}]", options={"path": path})

    def parse_position(self, value: object, known: Offset) -> Offset | None:
        """Read the number of the next entry of the log."""
        number = whole_number(value)
        return None if number is None or number < 0 else known.at({ONLY: number})

    def example(self, known: Offset) -> str:
        """Say what is counted."""
        return "an entry of the log of files, such as 12"

    def by_options(self, options: Mapping[str, str], known: Offset) -> Offset:
        """Return the beginning of the log, which the stream itself writes."""
        return known.at({ONLY: 0})


FILES = Files()
KINDS = (FILES,)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOffset(Offset):
    """How far the log of files has been read."""

    kind: ClassVar[SourceKind] = FILES
    log_offset: int

    def describe(self, source: str) -> str:
        """Name the newest entry of the log."""
        read = self.log_offset
        return "no file read yet" if read < 0 else f"read up to sources/{source}/{read}"

    @property
    def log_index(self) -> int:
        """Return the newest entry of the log."""
        return self.log_offset

    def to_json(self) -> dict[str, int]:
        """Return it as Spark writes it."""
        return {"logOffset": self.log_offset}

    def numbers(self) -> Mapping[Part, int]:
        """Return the next entry of the log."""
        return {ONLY: self.log_offset + 1}

    def at(self, numbers: Mapping[Part, int]) -> FileOffset:
        """Return it before another entry: Spark's offset names the last one that was read."""
        return FileOffset(log_offset=numbers[ONLY] - 1)

    def measure(self, start: Offset | None, *, is_first: bool = False) -> Amount | None:
        """Count the entries in between; the first batch begins with the first one."""
        if start is None and is_first:
            return Amount(number=self.log_offset + 1, unit=FILES.unit)
        return Offset.measure(self, start)
