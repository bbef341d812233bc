"""Files with known rows, a directory to write them to, and what plain readers must find there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import holdfast as hf
from campaigns.files_kills.readers import READERS
from campaigns.streams import guarded_to_files
from holdfast.drills.builtin.places import parts_told
from holdfast.drills.builtin.workload import APPEND, FILES_OF_A_CHAIN, ROWS_PER_FILE, write_files
from holdfast.drills.drill import Answer, Seen
from holdfast.ledger.row import LedgerRow

_FORMATS: Mapping[str, str] = {"json": "json", "csv": "csv"}
"""Of a shape; the others write Parquet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A stream of files into files; `Sinks` of a drill. Each reader is judged as a sink."""

    home: Path
    shape: str
    files: int = FILES_OF_A_CHAIN
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def out(self) -> Path:
        """The directory that readers read."""
        return self.home / "out"

    @property
    def kind(self) -> str:
        """The format of its files."""
        return _FORMATS.get(self.shape, "parquet")

    def program(self, root: str) -> list[str]:
        """Return the driver's program and arguments."""
        return [
            guarded_to_files.__file__,
            str(self.home / "files"),
            str(self.home),
            root,
            self.shape,
        ]

    @property
    def answers(self) -> Sequence[Answer]:
        """What each reader must find after each file."""
        after = [APPEND.after(files) for files in range(self.files + 1)]
        return [Answer(sink=name, after=after) for name in READERS[self.kind]]

    def look(self) -> Iterator[Seen]:
        """Read the directory with what the ledger tells, while neither changes."""
        ledger = hf.Files(str(self.out), format=self.kind).open_ledger()
        assert ledger is not None
        row = ledger.read("readings")
        told = parts_told(row.end_offsets, APPEND) if isinstance(row, LedgerRow) else 0
        for name, read in READERS[self.kind].items():
            yield Seen(sink=name, parts=told, rows=read(self.out))

    def watch(self) -> Iterator[Seen]:
        """Read the directory alone: some number of complete batches, and nothing else."""
        for name, read in READERS[self.kind].items():
            rows = read(self.out)
            yield Seen(sink=name, parts=len(rows) // ROWS_PER_FILE, rows=rows)


def make_workload(home: Path, shape: str, *, files: int = FILES_OF_A_CHAIN) -> Workload:
    """Write the files into a new directory; the output will be beside them."""
    write_files(home / "files", files=files)
    return Workload(home=home, shape=shape, files=files)
