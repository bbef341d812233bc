"""Files with known rows, Delta tables to write them to, and what those must hold after each."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from campaigns.streams import guarded_to_delta
from holdfast.drills.builtin.delta_table import DeltaTable, Snapshot
from holdfast.drills.builtin.places import parts_told
from holdfast.drills.builtin.workload import (
    APPEND,
    FILES,
    MERGE,
    ROWS_PER_FILE,
    write_files,
)
from holdfast.drills.drill import Answer, Seen
from holdfast.drills.history import Row
from holdfast.storage.options import from_hadoop
from holdfast.storage.write import Writer, open_writer
from lab import S3
from lab.s3 import BUCKET

_SHAPES = {"appended": APPEND, "fan_out": APPEND, "merged": MERGE}
"""What comes of each function of `guarded_to_delta`."""
UNLIKE = "rows of the same batch that the two tables do not share"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Files with known rows, and where they are written to; `Sinks` of a drill."""

    home: Path
    lake: str
    """Where tables and checkpoint are: in the home, or in a bucket."""
    shape: str
    files: int = FILES
    settings: Mapping[str, str] = field(default_factory=dict)
    """With which Spark, and we, reach the lake."""

    @property
    def tables(self) -> Sequence[str]:
        """The names of the tables."""
        return ("table", "copy") if self.shape == "fan_out" else ("table",)

    def program(self, *options: str) -> list[str]:
        """Return the driver's program and arguments."""
        places = [str(self.home / "files"), self.lake, f"{self.lake}/streams"]
        return [guarded_to_delta.__file__, *places, self.shape, *options]

    def open(self, table: str) -> DeltaTable:
        """Return a table that knows nothing of its log yet."""
        return DeltaTable(self.at(table))

    def at(self, place: str) -> Writer:
        """Return what reads and writes at a place in the lake."""
        return open_writer(f"{self.lake}/{place}", from_hadoop(self.settings, bucket=BUCKET))

    @property
    def answers(self) -> Sequence[Answer]:
        """What each table must hold after every file; what chance gave, two tables share."""
        shape = _SHAPES[self.shape]
        after = [shape.after(files) for files in range(self.files + 1)]
        key, sequence = (0, 1) if shape.is_keyed else (None, None)
        tables = [
            Answer(sink=table, after=after, key=key, sequence=sequence) for table in self.tables
        ]
        return [*tables, *([Answer(sink=UNLIKE, after=[[]])] if len(tables) > 1 else [])]

    def look(self) -> Iterator[Seen]:
        """Read the newest snapshot of each table."""
        return self.reader()()

    def reader(self) -> Callable[[], Iterator[Seen]]:
        """Return what reads the tables again and again; what it has read it does not read again."""
        return partial(self._look, {name: self.open(name) for name in self.tables})

    def _look(self, tables: Mapping[str, DeltaTable]) -> Iterator[Seen]:
        found = {name: table.read() for name, table in tables.items()}
        for name, snapshot in found.items():
            # What chance gave is compared between the tables.
            rows = snapshot.rows if len(found) == 1 else [row[:1] for row in snapshot.rows]
            yield Seen(sink=name, parts=self.files_told(snapshot), rows=rows)
        if len(found) > 1:
            yield Seen(sink=UNLIKE, parts=0, rows=self._unlike(*found.values()))

    def _unlike(self, first: Snapshot, second: Snapshot) -> list[Row]:
        fewest = min(map(self.files_told, (first, second))) * ROWS_PER_FILE
        shared = [Counter(row for row in each.rows if row[0] < fewest) for each in (first, second)]
        return list(((shared[0] - shared[1]) + (shared[1] - shared[0])).elements())

    def files_told(self, snapshot: Snapshot) -> int:
        """Return how many files the ledger in a snapshot tells of."""
        return parts_told(snapshot.end_offsets, _SHAPES[self.shape])


def epochs_told(snapshot: Snapshot) -> list[int]:
    """Return the epochs of the commits, the oldest first."""
    return [int(note["epoch"]) for note in snapshot.notes if "epoch" in note]


def make_workload(home: Path, shape: str, *, files: int = FILES, s3: S3 | None = None) -> Workload:
    """Write the files; tables and checkpoint will be beside them, or on S3.

    Args:
        home: A directory that is not there yet.
        shape: A function of `guarded_to_delta`.
        files: How many.
        s3: Where the lake is, unless it is on disk.
    """
    write_files(home / "files", files=files)
    lake = str(home) if s3 is None else f"s3a://{BUCKET}/{shape}-{uuid.uuid4().hex[:8]}"
    settings = {} if s3 is None else s3.spark_settings()
    return Workload(home=home, lake=lake, shape=shape, files=files, settings=settings)
