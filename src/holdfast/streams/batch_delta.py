"""A range of a Delta table as a batch DataFrame, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from holdfast.ledger.delta_files import FileChanges, read_file_changes
from holdfast.ledger.source_ranges import DeltaRange
from holdfast.sinks.session import reader_of
from holdfast.spark.errors import first_line, spark_errors
from holdfast.storage.location import parse_location
from holdfast.storage.read import Reader
from holdfast.streams.batch_reader import Make, NoBatchForm, Reading

_DELTA_ONLY_STREAMING = (
    *("path", "maxfilespertrigger", "maxbytespertrigger", "startingversion", "startingtimestamp"),
    *("ignoredeletes", "ignorechanges", "ignorefiledeletion", "skipchangecommits"),
    *("excluderegex", "readchangefeed", "readchangedata", "schematrackinglocation"),
    *("schemalocation", "allowsourcecolumnrename", "allowsourcecolumndrop"),
)
_REFUSED_DELTA = ("readChangeFeed", "readChangeData", "excludeRegex", "startingTimestamp")
_CHANGES_PASS = ("ignoreDeletes", "ignoreChanges", "ignoreFileDeletion", "skipChangeCommits")
"""With these, a stream of a Delta table goes on past commits that remove rows."""


def delta_batch(spark: Any, reading: Reading, found: DeltaRange) -> Make | NoBatchForm:
    """Return what opens a batch DataFrame with exactly a range of a Delta table."""
    is_delta = reading.table is not None or (reading.format or "").lower() == "delta"
    if not is_delta:
        return NoBatchForm(f"the checkpoint has Delta offsets, and the code reads {reading.format}")
    refused = [name for name in _REFUSED_DELTA if reading.option(name) is not None]
    if refused:
        return NoBatchForm(f"it reads a Delta table with the option {refused[0]}")
    wanted = _from_starting_version(reading, found)
    if isinstance(wanted, NoBatchForm):
        return wanted
    try:
        table = _find_table(spark, reading)
    except spark_errors() as error:
        return NoBatchForm(f"a Delta table that it reads could not be opened: {first_line(error)}")
    if table.table_id != found.table_id:
        return NoBatchForm(f"the Delta table {table.shown} was replaced since it was read")
    return _delta_rows(spark, reading, wanted, table=table)


def _from_starting_version(reading: Reading, found: DeltaRange) -> DeltaRange | NoBatchForm:
    given = reading.option("startingVersion")
    if given is None or found.after >= 0:
        return found
    if not given.isdecimal():
        return NoBatchForm(f"it reads a Delta table from startingVersion {given}, not a number")
    return replace(found, after=int(given) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    location: str
    table_id: str
    shown: str
    reader: Reader


def _find_table(spark: Any, reading: Reading) -> _Table:
    name = reading.table or f"delta.`{str(reading.path).replace('`', '``')}`"
    detail = spark.sql(f"DESCRIBE DETAIL {name}").first()
    return _Table(
        location=detail.location,
        table_id=detail.id,
        shown=str(reading.table or reading.path),
        reader=reader_of(spark, parse_location(detail.location)),
    )


def _delta_rows(
    spark: Any, reading: Reading, found: DeltaRange, *, table: _Table
) -> Make | NoBatchForm:
    """Return the rows of the versions in between.

    Without options that let changes pass, Delta's source fails at a commit that removes rows: all
    versions that it went through only added some, and the table at the last is what it gave.
    """
    added: list[str] = []
    is_lenient = any(reading.option(name) == "true" for name in _CHANGES_PASS)
    if found.after >= 0 or is_lenient:
        for version in range(found.after + 1, found.through + 1):
            changes = read_file_changes(table.reader, version)
            if isinstance(changes, FileChanges) and not changes.removes_data:
                added += changes.added
                continue
            told = "removes or updates rows" if changes else "is no longer in the log"
            return NoBatchForm(f"version {version} of the Delta table {table.shown} {told}")
    options = {**reading.without(_DELTA_ONLY_STREAMING), "versionAsOf": str(found.through)}

    def open_rows() -> Any:
        rows = spark.read.format("delta").options(**options).load(table.location)
        if reading.table is not None:
            rows = rows.alias(reading.table.rpartition(".")[2])
        return rows if found.after < 0 else _of_files(rows, added)

    if found.after >= 0:
        snapshot = spark.read.format("delta").options(**options).load(table.location)
        if set(map(_base, added)) - set(map(_base, snapshot.inputFiles())):
            return NoBatchForm(f"files of the Delta table {table.shown} were rewritten since")
    return open_rows


def files_of_versions(
    spark: Any, reading: Reading, found: DeltaRange, *, versions: Iterable[int]
) -> Mapping[str, int] | NoBatchForm:
    """Return the version that added each file of a range, by the file's name.

    Args:
        spark: The session.
        reading: What the function of the stream reads.
        found: The range.
        versions: Those whose files are wanted.
    """
    try:
        table = _find_table(spark, reading)
    except spark_errors() as error:
        return NoBatchForm(f"a Delta table that it reads could not be opened: {first_line(error)}")
    names: dict[str, int] = {}
    for version in versions:
        changes = read_file_changes(table.reader, version)
        if changes is None:
            told = f"version {version} of the Delta table {table.shown} is no longer in the log"
            return NoBatchForm(told)
        names |= {_base(path): version for path in changes.added}
    reader = spark.read.format("delta").option("versionAsOf", str(found.through))
    if set(names) - set(map(_base, reader.load(table.location).inputFiles())):
        return NoBatchForm(f"files of the Delta table {table.shown} were rewritten since")
    return names


def _of_files(rows: Any, added: list[str]) -> Any:
    """Return the rows of these files: their names are unique in a table."""
    from pyspark.sql import functions as F

    names = rows.sparkSession.createDataFrame([(_base(path),) for path in added], "name string")
    name = F.element_at(F.split(F.col("_metadata.file_path"), "/"), -1)
    return rows.join(F.broadcast(names), name == names["name"], "left_semi")


def _base(path: str) -> str:
    return path.rpartition("/")[2]
