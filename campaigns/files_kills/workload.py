"""Files with known rows, a directory to write them to, and what plain readers must find there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaigns.files_kills.places import OnDisk, Place
from campaigns.streams import guarded_to_files
from holdfast.drills.builtin.places import parts_told
from holdfast.drills.builtin.workload import APPEND, FILES_OF_A_CHAIN, ROWS_PER_FILE, write_files
from holdfast.drills.drill import Answer, Seen

_FORMATS: Mapping[str, str] = {"json": "json", "csv": "csv"}
"""Of a shape; the others write Parquet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A stream of files into files; `Sinks` of a drill. Each reader is judged as a sink."""

    home: Path
    """Of its input."""
    place: Place
    """Of its output, and of its root."""
    shape: str
    files: int = FILES_OF_A_CHAIN

    @property
    def kind(self) -> str:
        """The format of its files."""
        return _FORMATS.get(self.shape, "parquet")

    def program(self) -> list[str]:
        """Return the driver's program and arguments."""
        return [
            guarded_to_files.__file__,
            str(self.home / "files"),
            self.place.location,
            f"{self.place.location}/streams",
            self.shape,
        ]

    @property
    def answers(self) -> Sequence[Answer]:
        """What each reader must find after each file."""
        after = [APPEND.after(files) for files in range(self.files + 1)]
        return [Answer(sink=name, after=after) for name in self.place.readers(self.kind)]

    def look(self) -> Iterator[Seen]:
        """Read the directory with what the ledger tells, while neither changes."""
        row = self.place.row(self.kind)
        told = 0 if row is None else parts_told(row.end_offsets, APPEND)
        for name, read in self.place.readers(self.kind).items():
            yield Seen(sink=name, parts=told, rows=read())

    def watch(self) -> Iterator[Seen]:
        """Read the directory alone: some number of complete batches, and nothing else."""
        for name, read in self.place.readers(self.kind).items():
            rows = read()
            yield Seen(sink=name, parts=len(rows) // ROWS_PER_FILE, rows=rows)


def make_workload(
    home: Path, shape: str, *, files: int = FILES_OF_A_CHAIN, place: Place | None = None
) -> Workload:
    """Write the files into a new directory; the output will be beside them, or at a place."""
    write_files(home / "files", files=files)
    return Workload(home=home, place=place or OnDisk(home), shape=shape, files=files)
