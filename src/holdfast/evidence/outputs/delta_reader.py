"""Reads what a Delta table tells of the batches in it, without Spark.

The newest 256 commits are read, newest first, and one checksum file (`<version>.crc`), which lists
the transactions that are older. That costs at most 300 requests, whatever the size of the table.
Checkpoints of Delta (Parquet) are not parsed: what is only there is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from holdfast.checkpoint.text import parse_json_object, whole_number
from holdfast.errors import ReadError
from holdfast.evidence.outputs.delta import DeltaOutput, OutputCommit
from holdfast.evidence.outputs.output import NotRead
from holdfast.formats.delta_intervals import parse_interval
from holdfast.formats.delta_log import LOG, Commit, is_replacing, newest_version, walk_back
from holdfast.storage.read import Reader

MOST_COMMITS = 256
_RETENTION = "delta.setTransactionRetentionDuration"
_PARTIAL = ("predicate", "replaceWhere")


def read_delta_output(table: Reader, shown: str) -> DeltaOutput | NotRead:
    """Read what a Delta table tells of the batches in it.

    Args:
        table: Reads at the table's location.
        shown: The table as people know it.
    """
    try:
        newest = newest_version(table)
        if newest is None:
            return DeltaOutput(display_name=shown)
        found = list(islice(walk_back(table, newest), MOST_COMMITS))
        checksum = _read_checksum(table, newest)
    except ReadError as error:
        return NotRead(display_name=shown, why=error.why.rstrip("."))
    if not found:
        return NotRead(
            display_name=shown, why=f"commit {newest} in {LOG} is gone: the table changes now"
        )
    damaged = next((each for each in found if each.is_cut), None)
    if damaged is not None:
        return NotRead(display_name=shown, why=f"commit {damaged.version} in {LOG} is damaged")
    return _make_output(shown, found, checksum)


def _make_output(shown: str, found: list[Commit], checksum: Mapping[str, object]) -> DeltaOutput:
    reads_all = found[-1].version == 0
    table = next((each for each in found if each.table_id is not None), None)
    remembered = _transactions(checksum)
    described = checksum.get("metadata")
    metadata = described if isinstance(described, dict) else {}
    settings = table.settings if table is not None else metadata.get("configuration")
    retention = settings.get(_RETENTION) if isinstance(settings, Mapping) else None
    created = table.created_ms if table is not None else whole_number(metadata.get("createdTime"))
    table_id = table.table_id if table is not None else metadata.get("id")
    return DeltaOutput(
        display_name=shown,
        newest=found[0].version,
        table_id=table_id if isinstance(table_id, str) else None,
        created_ms=created,
        commits=tuple(_describe(each, found) for each in found),
        remembered=remembered or {},
        knows_all=reads_all or remembered is not None,
        transaction_retention=parse_interval(retention),
    )


def _describe(commit: Commit, found: list[Commit]) -> OutputCommit:
    parameters = commit.parameters
    is_partial = any(parameters.get(name) for name in _PARTIAL) and commit.operation == "WRITE"
    is_restore = commit.operation == "RESTORE"
    # Nothing is older than its first version: what creates a table replaces nothing.
    begins = commit.version == found[-1].version == 0
    return OutputCommit(
        version=commit.version,
        operation=commit.operation,
        written_ms=commit.written_ms,
        transactions=commit.transactions,
        output_mode=str(parameters.get("outputMode", "")),
        restores=_number(parameters.get("version")) if is_restore else None,
        replaces_all=not (is_partial or is_restore or begins) and is_replacing(commit, -1),
        rows=_number(commit.metrics.get("numOutputRows")),
        removed_files=_number(commit.metrics.get("numRemovedFiles")),
        engine=commit.engine,
    )


def _number(found: object) -> int | None:
    """Return a count: Delta writes most of them as text."""
    if isinstance(found, str) and found.isascii() and found.isdigit() and len(found) < 19:
        return int(found)
    return whole_number(found)


def _read_checksum(table: Reader, newest: int) -> Mapping[str, object]:
    raw = table.read(f"{LOG}/{newest:020d}.crc")
    return parse_json_object((raw or b"").decode("utf-8", "replace")) or {}


def _transactions(checksum: Mapping[str, object]) -> Mapping[str, int] | None:
    """Return every transaction of the table; None when the checksum file does not list them."""
    listed = checksum.get("setTransactions")
    if not isinstance(listed, list):
        return None
    found = {}
    for each in listed:
        app = each.get("appId") if isinstance(each, dict) else None
        batch = whole_number(each.get("version")) if isinstance(each, dict) else None
        if not isinstance(app, str) or batch is None:
            return None
        found[app] = batch
    return found
