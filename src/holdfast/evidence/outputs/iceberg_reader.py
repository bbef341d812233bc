"""Looks at an Iceberg table that a stream writes, by its newest metadata file alone."""

from __future__ import annotations

from collections.abc import Iterator, Set

from holdfast.checkpoint.layout import parse_number
from holdfast.evidence.outputs.iceberg import IcebergOutput, IcebergWriter
from holdfast.evidence.outputs.output import NotRead
from holdfast.formats.iceberg_metadata import IcebergTable, Snapshot, read_table
from holdfast.storage.read import Reader

_QUERY, _EPOCH = "spark.sql.streaming.queryId", "spark.sql.streaming.epochId"
_APPLICATION, _ENGINE, _VERSION = "spark.app.id", "engine-name", "engine-version"


def read_iceberg_output(table: Reader, shown: str) -> IcebergOutput | NotRead:
    """Return what a table tells of the batches in it.

    Args:
        table: Of the table's location, which has `metadata/`.
        shown: The table as people know it.
    """
    read = read_table(table)
    if not isinstance(read, IcebergTable):
        return NotRead(display_name=shown, why=read.why)
    history = read.history()
    return IcebergOutput(
        display_name=shown,
        writers=tuple(_writers(read, history)),
        is_cut=bool(history) and history[-1].parent_id is not None,
        snapshots=len(read.snapshots),
        metadata=read.path,
    )


def _writers(table: IcebergTable, history: tuple[Snapshot, ...]) -> Iterator[IcebergWriter]:
    main = {each.snapshot_id for each in history}
    branches = {
        each.snapshot_id for newest in table.branches for each in table.history(newest)
    } - main
    found: dict[str, list[tuple[int, Snapshot]]] = {}
    for each in table.snapshots.values():
        epoch = parse_number(each.summary.get(_EPOCH, ""))
        if epoch is not None and _QUERY in each.summary:
            found.setdefault(each.summary[_QUERY], []).append((epoch, each))
    for query, written in found.items():
        kept = [each for each in written if each[1].snapshot_id in main]
        ordered = [each for _, each in sorted(kept or written, key=_by_batch)]
        summary = ordered[-1].summary
        applications = (each.summary.get(_APPLICATION) for each in ordered)
        yield IcebergWriter(
            query_id=query,
            newest=_newest(written, main),
            newest_removed=_newest(written, table.snapshots.keys() - main - branches),
            newest_on_branch=_newest(written, branches),
            operation=ordered[-1].operation,
            engine=summary.get(_VERSION, "") if summary.get(_ENGINE) == "spark" else "",
            applications=tuple(dict.fromkeys(each for each in applications if each)),
        )


def _by_batch(found: tuple[int, Snapshot]) -> tuple[int, int]:
    return found[0], found[1].timestamp_ms


def _newest(written: list[tuple[int, Snapshot]], among: Set[int]) -> int:
    return max((epoch for epoch, each in written if each.snapshot_id in among), default=-1)
