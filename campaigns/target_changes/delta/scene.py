"""A Delta table on disk with its stream."""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from campaigns.target_changes.cells import STREAMED, Cell, Table
from campaigns.target_changes.rows import SCHEMA, Row, write_file
from holdfast.formats.delta_log import LOG
from holdfast.sinks.delta.sink import Delta
from holdfast.streams.start import start

_CHANGES_ROWS = (b'"add":', b'"remove":')


class DeltaScene:
    """One table, its stream, and the session of those who change it."""

    def __init__(self, cell: Cell, *, spark: SparkSession, directory: Path) -> None:
        self.cell = cell
        self.directory = directory
        self._spark = spark.newSession()
        self.theirs = spark.newSession()
        """The session of those who change the table."""
        self._files = directory / "in"
        self._files.mkdir(parents=True)
        self._named = f"cell_{uuid.uuid4().hex[:12]}"
        self.path = directory / "readings"
        if self.is_by_name:
            warehouse = spark.conf.get("spark.sql.warehouse.dir") or ""
            self.path = Path(warehouse.removeprefix("file:"), self._named)

    @property
    def is_by_name(self) -> bool:
        """Whether the stream finds its table in the catalog."""
        return self.cell.change.setup == "by_name"

    @property
    def table(self) -> str:
        """The table, as SQL takes it."""
        return self._named if self.is_by_name else f"delta.`{self.path}`"

    def sql(self, statement: str) -> None:
        """Run a statement as those who change the table do; `{table}` and `{other}` are places."""
        other = f"delta.`{self.directory / 'other'}`"
        self.theirs.sql(statement.format(table=self.table, other=other)).collect()

    def start(self) -> Any:
        """Start the stream."""
        reader = self._spark.readStream.schema(SCHEMA).format("json")
        df = reader.option("maxFilesPerTrigger", 1).load(str(self._files))
        is_merged = self.cell.table is Table.MERGED
        sink = Delta(
            path=None if self.is_by_name else str(self.path),
            table=self._named if self.is_by_name else None,
            keys=("id",) if is_merged else (),
            sequence_by="seq" if is_merged else None,
        )
        return start(df, stream="readings", into=sink, root=str(self.directory / "streams"))

    def add(self, batch: int) -> None:
        """Add the file of a batch."""
        write_file(self._files, batch)

    def act(self) -> None:
        """Do the change."""
        act = self.cell.change.act
        if callable(act):
            act(self)
        else:
            for statement in act:
                self.sql(statement)

    def is_waiting(self) -> bool:
        """Return False: nothing waits for a lock in Delta."""
        return False

    def release(self) -> None:
        """Do nothing: no change holds anything."""

    def newest(self) -> int:
        """Return the newest version of the table."""
        return max(int(commit.stem) for commit in (self.path / LOG).glob("*.json"))

    def forget(self) -> None:
        """Have Delta forget what it knows of every table, as another driver would not know it."""
        jvm: Any = self._spark._jvm  # noqa: SLF001 - the only way to it
        jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

    def find(self, table: str) -> tuple[Sequence[str], list[tuple[object, ...]]]:
        """Return the stream's columns that a table has, and their values."""
        place = self.path if table == STREAMED else self.directory / table
        if not (place / LOG).is_dir():
            return Row._fields, []
        self.forget()
        found = self.theirs.read.format("delta").load(str(place))
        columns = [column for column in Row._fields if column in found.columns]
        return columns, [tuple(row) for row in found.select(*columns).collect()]

    def snapshot(self) -> object:
        """Return every commit that adds or removes data, of every table here."""
        places = {self.path, *(log.parent for log in self.directory.glob(f"*/{LOG}"))}
        found = {
            str(commit): hashlib.sha256(commit.read_bytes()).hexdigest()
            for place in places
            for commit in (place / LOG).glob("*.json")
        }
        return {path: known for path, known in found.items() if _changes_rows(Path(path))}

    def close(self) -> None:
        """Drop the table from the catalog."""
        if self.is_by_name:
            self.theirs.sql(f"DROP TABLE IF EXISTS {self._named}")
            shutil.rmtree(self.path, ignore_errors=True)


def _changes_rows(commit: Path) -> bool:
    raw = commit.read_bytes()
    return any(action in raw for action in _CHANGES_ROWS)
