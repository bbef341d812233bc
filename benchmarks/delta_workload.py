"""Files with known rows, Delta tables to bring them to, and the judge of what is in those."""

from __future__ import annotations

import functools
import json
import os
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import guarded_to_delta
from holdfast.drills.kill import Point
from holdfast.drills.known.delta_table import DeltaTable, Row, Snapshot
from holdfast.proof.multiset import Difference, compare
from holdfast.storage.options import from_hadoop
from holdfast.storage.write import Writer, open_writer
from lab import S3
from lab.s3 import BUCKET

FILES = 8
ROWS_PER_FILE = 200
KEYS = 50
FIRST_FILE = 1_700_000_000
"""Their times: files are read in the order of these."""


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
            files = files_told(snapshot)
            assert point is not None or files == self.files, f"at the end: {files} files"
        if len(found) > 1:
            fewest = min(files_told(snapshot) for snapshot in found) * ROWS_PER_FILE
            shared = [Counter(row for row in each.rows if row[0] < fewest) for each in found]
            assert shared[0] == shared[1], f"{point}: the same batches, and not the same rows"

    def torn(self, snapshot: Snapshot) -> str | None:
        """Say how a snapshot differs from what the ledger inside it tells of; None when not."""
        files = files_told(snapshot)
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


def files_told(snapshot: Snapshot) -> int:
    """Return how many files the ledger tells of: where its last batch ended.

    Not how many batches: one that was killed before its entry is planned again with more.
    """
    rows = [note for note in snapshot.notes if note.get("holdfast") == "row"]
    ended = json.loads(rows[-1]["end_offsets"]) if rows else {}
    return int(ended["0"]["logOffset"]) + 1 if ended else 0


def epochs_told(snapshot: Snapshot) -> list[int]:
    """Return the epochs of the commits, the oldest first."""
    return [int(note["epoch"]) for note in snapshot.notes if "epoch" in note]


@functools.cache
def _expected(shape: str, files: int) -> Sequence[Row]:
    rows: Sequence[Any] = range(files * ROWS_PER_FILE)
    if shape in ("appended", "fan_out"):
        return [(row,) for row in rows]
    newest = {row % KEYS: row for row in rows}
    if shape == "merged":
        return list(newest.items())
    return [(key, len(rows) // KEYS) for key in newest]


def make_workload(home: Path, shape: str, *, files: int = FILES, s3: S3 | None = None) -> Workload:
    """Write the files; tables and checkpoint will be beside them, or on S3.

    Args:
        home: A directory that is not there yet.
        shape: A function of `guarded_to_delta`.
        files: How many.
        s3: Where the lake is, unless it is on disk.
    """
    directory = home / "files"
    directory.mkdir(parents=True)
    for number in range(files):
        path = directory / f"f{number:03}"
        rows = range(number * ROWS_PER_FILE, (number + 1) * ROWS_PER_FILE)
        path.write_text("".join(f"{row}\n" for row in rows))
        os.utime(path, (FIRST_FILE + number, FIRST_FILE + number))
    lake = str(home) if s3 is None else f"s3a://{BUCKET}/{shape}-{uuid.uuid4().hex[:8]}"
    settings = {} if s3 is None else s3.spark_settings()
    return Workload(home=home, lake=lake, shape=shape, files=files, settings=settings)
