"""Files with known rows, Delta tables to bring them to, and the judge of what is in those."""

from __future__ import annotations

import functools
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import guarded_to_delta
from holdfast.drills.history import Row
from holdfast.drills.kill import Point
from holdfast.drills.known.delta_table import DeltaTable, Snapshot
from holdfast.drills.known.places import parts_told
from holdfast.drills.known.workload import APPEND, COUNTS, FILES, MERGE, ROWS_PER_FILE, write_files
from holdfast.proof.multiset import Difference, compare
from holdfast.storage.options import from_hadoop
from holdfast.storage.write import Writer, open_writer
from lab import S3
from lab.s3 import BUCKET

_SHAPES = {"appended": APPEND, "fan_out": APPEND, "merged": MERGE, "counts": COUNTS}
"""What comes of each function of `guarded_to_delta`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Files with known rows, and where they are brought to."""

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

    def judge(self, point: Point | None) -> None:
        """Check that each table holds exactly what its ledger tells of; everything at the end.

        Raises:
            AssertionError: It does not, or two tables have different rows of the same batches.
        """
        found = [self.open(table).read() for table in self.tables]
        for snapshot in found:
            torn = self.torn(snapshot)
            assert torn is None, f"{point}: {torn}"
            files = self.files_told(snapshot)
            assert point is not None or files == self.files, f"at the end: {files} files"
        if len(found) > 1:
            fewest = min(self.files_told(each) for each in found) * ROWS_PER_FILE
            shared = [Counter(row for row in each.rows if row[0] < fewest) for each in found]
            assert shared[0] == shared[1], f"{point}: the same batches, and not the same rows"

    def files_told(self, snapshot: Snapshot) -> int:
        """Return how many files the ledger in a snapshot tells of."""
        return parts_told(snapshot.end_offsets, _SHAPES[self.shape])

    def torn(self, snapshot: Snapshot) -> str | None:
        """Say how a snapshot differs from what the ledger inside it tells of; None when not."""
        files = self.files_told(snapshot)
        found = self._compare(snapshot, files)
        if found.exact:
            return None
        return f"version {snapshot.version}, after {files} files: {found}"

    def difference(self) -> Difference:
        """Compare what is there with what must be there at the end; of the worse table."""
        found = [self._compare(self.open(table).read(), self.files) for table in self.tables]
        return max(found, key=lambda each: each.missing + each.doubled + each.foreign)

    def _compare(self, snapshot: Snapshot, files: int) -> Difference:
        rows = snapshot.rows
        if self.shape == "fan_out":  # what chance gave is compared between the tables
            rows = tuple(row[:1] for row in rows)
        return compare(_expected(self.shape, files), rows)


def epochs_told(snapshot: Snapshot) -> list[int]:
    """Return the epochs of the commits, the oldest first."""
    return [int(note["epoch"]) for note in snapshot.notes if "epoch" in note]


@functools.cache
def _expected(shape: str, files: int) -> Sequence[Row]:
    return _SHAPES[shape].after(files)


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
