"""Versions of a Delta table from one position to another, and how they are read again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from holdfast.formats.delta_files import FileChanges, read_file_changes
from holdfast.sources.delta.kind import DeltaOffset
from holdfast.sources.kind import Offset
from holdfast.sources.ranges import SourceRange, join_intervals
from holdfast.sources.reading import Make, NoBatchForm, Opening, Reading
from holdfast.storage.read import Reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DELTA_ONLY_STREAMING = (
    *("path", "maxfilespertrigger", "maxbytespertrigger", "startingversion", "startingtimestamp"),
    *("ignoredeletes", "ignorechanges", "ignorefiledeletion", "skipchangecommits"),
    *("excluderegex", "readchangefeed", "readchangedata", "schematrackinglocation"),
    *("schemalocation", "allowsourcecolumnrename", "allowsourcecolumndrop"),
)
_REFUSED_DELTA = ("readChangeFeed", "readChangeData", "excludeRegex", "startingTimestamp")
_CHANGES_PASS = ("ignoreDeletes", "ignoreChanges", "ignoreFileDeletion", "skipChangeCommits")
"""With these, a stream of a Delta table goes on past commits that remove rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeltaRange(SourceRange):
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

    @property
    def begins_by_options(self) -> bool:
        """Whether it begins with the table, unless startingVersion says otherwise."""
        return self.after < 0

    def by_options(self, reading: Reading) -> DeltaRange | NoBatchForm:
        """Return it from the version on that startingVersion names."""
        given = reading.option("startingVersion")
        if given is None or self.after >= 0:
            return self
        if not given.isdecimal():
            return NoBatchForm(f"it reads a Delta table from startingVersion {given}, not a number")
        return replace(self, after=int(given) - 1)

    def given(self, end: Offset) -> tuple[object, object]:
        """Return the first version, and the one after the last."""
        return self.after + 1, self.through + 1

    def merge(self, others: Sequence[SourceRange]) -> Sequence[SourceRange] | None:
        """Join the versions."""
        tables = [each for each in others if isinstance(each, DeltaRange)]
        if len({each.table_id for each in tables}) > 1:
            return None
        versions = join_intervals((each.after + 1, each.through + 1) for each in tables)
        return [
            DeltaRange(table_id=self.table_id, after=first - 1, through=last - 1)
            for first, last in versions
        ]

    def open(self, opening: Opening) -> Make | NoBatchForm:
        """Read the rows of the versions in between."""
        reading = opening.reading
        is_delta = reading.table is not None or (reading.format or "").lower() == "delta"
        if not is_delta:
            return NoBatchForm(
                f"the checkpoint has Delta offsets, and the code reads {reading.format}"
            )
        refused = [name for name in _REFUSED_DELTA if reading.option(name) is not None]
        if refused:
            return NoBatchForm(f"it reads a Delta table with the option {refused[0]}")
        wanted = self.by_options(reading)
        if isinstance(wanted, NoBatchForm):
            return wanted
        table = _find_table(opening)
        if isinstance(table, NoBatchForm):
            return table
        if table.table_id != self.table_id:
            return NoBatchForm(
                f"the Delta table {table.display_name} was replaced since it was read"
            )
        return _delta_rows(opening, wanted, table=table)


def delta_range(
    reader: Reader, source: str, *, start: Offset | None, end: Offset
) -> DeltaRange | str:
    """Return the versions between two offsets; a text says why they are not known."""
    assert isinstance(end, DeltaOffset)
    for each in (start, end):
        if isinstance(each, DeltaOffset) and each.index >= 0:
            where = "the first snapshot" if each.initial_snapshot else f"version {each.version}"
            return f"it ends inside {where} of the table, after some files of it"
    if isinstance(start, DeltaOffset) and start.table_id != end.table_id:
        return "the table was replaced in between"
    after = start.version - 1 if isinstance(start, DeltaOffset) else -1
    if isinstance(start, DeltaOffset) and start.initial_snapshot:
        after = -1
    # Nothing of the first snapshot is read before its first file.
    through = -1 if end.initial_snapshot else end.version - 1
    return DeltaRange(table_id=end.table_id, after=after, through=through)


class _Table(msgspec.Struct, frozen=True, kw_only=True):
    location: str
    table_id: str
    display_name: str
    reader: Reader


def _find_table(opening: Opening) -> _Table | NoBatchForm:
    reading = opening.reading
    name = reading.table or f"delta.`{str(reading.path).replace('`', '``')}`"
    try:
        detail = opening.spark.sql(f"DESCRIBE DETAIL {name}").collect()[0]
    except opening.errors as error:
        told = opening.first_line(error)
        return NoBatchForm(f"a Delta table that it reads could not be opened: {told}")
    return _Table(
        location=detail.location,
        table_id=detail.id,
        display_name=str(reading.table or reading.path),
        reader=opening.read_at(detail.location),
    )


def _delta_rows(opening: Opening, found: DeltaRange, *, table: _Table) -> Make | NoBatchForm:
    """Return the rows of the versions in between.

    Without options that let changes pass, Delta's source fails at a commit that removes rows: all
    versions that it went through only added some, and the table at the last is what it gave.
    """
    added: list[str] = []
    spark, reading = opening.spark, opening.reading
    is_lenient = any(reading.option(name) == "true" for name in _CHANGES_PASS)
    if found.after >= 0 or is_lenient:
        for version in range(found.after + 1, found.through + 1):
            changes = read_file_changes(table.reader, version)
            if isinstance(changes, FileChanges) and not changes.removes_data:
                added += changes.added
                continue
            told = "removes or updates rows" if changes else "is no longer in the log"
            return NoBatchForm(f"version {version} of the Delta table {table.display_name} {told}")
    options = {**reading.without(_DELTA_ONLY_STREAMING), "versionAsOf": str(found.through)}

    def open_rows() -> DataFrame:
        rows = spark.read.format("delta").options(**options).load(table.location)
        if reading.table is not None:
            rows = rows.alias(reading.table.rpartition(".")[2])
        return rows if found.after < 0 else _of_files(rows, added)

    if found.after >= 0:
        snapshot = spark.read.format("delta").options(**options).load(table.location)
        if set(map(_base, added)) - set(map(_base, snapshot.inputFiles())):
            return NoBatchForm(
                f"files of the Delta table {table.display_name} were rewritten since"
            )
    return open_rows


def files_of_versions(
    opening: Opening, found: DeltaRange, *, versions: Iterable[int]
) -> Mapping[str, int] | NoBatchForm:
    """Return the version that added each file of a range, by the file's name.

    Args:
        opening: The session, and what the function of the stream reads.
        found: The range.
        versions: Those whose files are wanted.
    """
    table = _find_table(opening)
    if isinstance(table, NoBatchForm):
        return table
    names: dict[str, int] = {}
    for version in versions:
        changes = read_file_changes(table.reader, version)
        if changes is None:
            told = (
                f"version {version} of the Delta table {table.display_name} is no longer in the log"
            )
            return NoBatchForm(told)
        names |= {_base(path): version for path in changes.added}
    reader = opening.spark.read.format("delta").option("versionAsOf", str(found.through))
    if set(names) - set(map(_base, reader.load(table.location).inputFiles())):
        return NoBatchForm(f"files of the Delta table {table.display_name} were rewritten since")
    return names


def _of_files(rows: DataFrame, added: list[str]) -> DataFrame:
    """Return the rows of these files: their names are unique in a table."""
    from pyspark.sql import functions as F

    names = rows.sparkSession.createDataFrame([(_base(path),) for path in added], "name string")
    name = F.element_at(F.split(F.col("_metadata.file_path"), "/"), -1)
    return rows.join(F.broadcast(names), name == names["name"], "left_semi")


def _base(path: str) -> str:
    return path.rpartition("/")[2]
