"""What the metadata file of an Iceberg table tells of a stream that reads or writes it."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.evidence.outputs.iceberg import IcebergOutput, IcebergWriter
from holdfast.evidence.outputs.iceberg_reader import read_iceberg_output
from holdfast.evidence.outputs.output import NotRead
from holdfast.formats.iceberg_metadata import IcebergTable, NoTable, read_table
from holdfast.sources.iceberg.found import IcebergChange, IcebergSource
from holdfast.sources.iceberg.kind import IcebergOffset
from holdfast.sources.iceberg.probe import probe_iceberg
from holdfast.sources.probe import NotProbed, SourceProbe
from holdfast.storage.memory import MemoryStorage

NOW = datetime(2026, 11, 15, 6, tzinfo=UTC)
DAY_MS = 24 * 3600 * 1000
V3 = "metadata/v3.metadata.json"


def snapshot(number: int, parent: int | None, **summary: str) -> dict[str, Any]:
    at = int(NOW.timestamp() * 1000) - (100 - number) * DAY_MS // 10
    found: dict[str, Any] = {"snapshot-id": number, "timestamp-ms": at, "summary": summary}
    return found if parent is None else {**found, "parent-snapshot-id": parent}


def wrote(number: int, parent: int | None, query: str, *, epoch: int) -> dict[str, Any]:
    names = {"spark.sql.streaming.queryId": query, "spark.sql.streaming.epochId": str(epoch)}
    return snapshot(number, parent, operation="append", **names)


def table(*snapshots: dict[str, Any], current: int, **more: Any) -> MemoryStorage:
    document = {
        "format-version": 2,
        "table-uuid": "u",
        "current-snapshot-id": current,
        "properties": {},
        "snapshots": snapshots,
        **more,
    }
    return MemoryStorage({V3: json.dumps(document).encode(), "metadata/v2.metadata.json": b"{"})


def probe(storage: MemoryStorage, needed: int) -> SourceProbe:
    offset = IcebergOffset(snapshot_id=needed, position=1, scan_all_files=False)
    return probe_iceberg("0", offset, storage, now=NOW)


def test_the_snapshots_after_the_offset_are_what_is_to_be_read() -> None:
    storage = table(
        snapshot(97, None, operation="append"),
        snapshot(98, 97, **{"operation": "append", "added-records": "12"}),
        snapshot(99, 98, operation="overwrite"),
        current=99,
    )
    found = probe(storage, 97)
    assert isinstance(found.found, IcebergSource)
    assert found.found.after == (
        IcebergChange(snapshot_id=98, operation="append", added=12),
        IcebergChange(snapshot_id=99, operation="overwrite"),
    )
    assert found.found.held == (97, 98, 99)
    assert found.lossless_for == timedelta(days=5) - timedelta(days=0.3)
    assert "120 h" in found.lossless_by


def test_the_age_that_a_table_keeps_decides_and_the_newest_snapshot_does_not_expire() -> None:
    age = {"history.expire.max-snapshot-age-ms": str(DAY_MS // 10)}
    storage = table(snapshot(97, None), snapshot(99, 97), current=99, properties=age)
    assert probe(storage, 97).lossless_for == timedelta(0)
    assert probe(storage, 99).lossless_for is None
    assert probe(storage, -1).lossless_for is None


def test_an_expired_and_a_rolled_back_snapshot_differ() -> None:
    storage = table(snapshot(97, None), snapshot(98, 97), snapshot(99, 97), current=99)
    gone, left = probe(storage, 5), probe(storage, 98)
    assert isinstance(gone.found, IcebergSource)
    assert isinstance(left.found, IcebergSource)
    assert (gone.found.is_held, gone.lossless_for) == (False, timedelta(0))
    assert (left.found.is_held, left.found.is_in_history) == (True, False)


def test_the_newest_batch_of_each_query_is_found_in_main() -> None:
    storage = table(
        wrote(95, 94, "q", epoch=6),
        wrote(96, 95, "q", epoch=7),
        wrote(97, 96, "other", epoch=3),
        wrote(98, 95, "q", epoch=9),
        wrote(99, 97, "branched", epoch=2),
        current=97,
        refs={
            "main": {"snapshot-id": 97, "type": "branch"},
            "audit": {"snapshot-id": 99, "type": "branch"},
            "kept": {"snapshot-id": 98, "type": "tag"},
        },
    )
    found = read_iceberg_output(storage, "t")
    assert isinstance(found, IcebergOutput)
    assert found.writer("q") == IcebergWriter(
        query_id="q", newest=7, newest_removed=9, operation="append"
    )
    assert found.writer("branched") == IcebergWriter(
        query_id="branched", newest_on_branch=2, operation="append"
    )
    assert found.writer("nobody") is None
    assert (found.is_cut, found.snapshots) == (True, 5)


def test_a_table_without_a_snapshot_is_empty() -> None:
    found = read_table(table(current=-1))
    assert isinstance(found, IcebergTable)
    assert found.history() == ()


def test_a_compressed_file_is_read() -> None:
    raw = gzip.compress(table(snapshot(1, None), current=1).files[V3])
    found = read_table(MemoryStorage({"metadata/00003-ab.gz.metadata.json": raw}))
    assert isinstance(found, IcebergTable)
    assert list(found.snapshots) == [1]


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "has no metadata file"),
        ({V3: b"{"}, "is not the metadata"),
        ({V3: b'{"snapshots":[{"snapshot-id":"x"}]}'}, "is not the metadata"),
        ({V3: b"\x1f\x8bnot gzip"}, "is not a complete gzip file"),
        (
            {"metadata/00003-a.metadata.json": b"{}", "metadata/00003-b.metadata.json": b"{}"},
            "only the catalog knows",
        ),
    ],
)
def test_what_cannot_be_read_says_why(files: dict[str, bytes], why: str) -> None:
    storage = MemoryStorage(files)
    found = read_table(storage)
    assert isinstance(found, NoTable)
    assert why in found.why
    probed, output = probe(storage, 1).found, read_iceberg_output(storage, "t")
    assert isinstance(probed, NotProbed)
    assert probed.why == found.why
    assert output == NotRead(display_name="t", why=found.why)


def test_snapshots_that_are_their_own_parents_end() -> None:
    found = read_table(table(snapshot(1, 2), snapshot(2, 1), current=1))
    assert isinstance(found, IcebergTable)
    assert [each.snapshot_id for each in found.history()] == [1, 2]


@given(st.binary())
def test_any_bytes_are_a_table_or_a_reason(raw: bytes) -> None:
    storage = MemoryStorage({V3: raw})
    assert isinstance(read_table(storage), IcebergTable | NoTable)
    probe(storage, 1)
    read_iceberg_output(storage, "t")


@given(st.integers(-(2**63), 2**63 - 1), st.text())
def test_any_time_and_any_age_are_counted_down(at: int, age: str) -> None:
    first = {"snapshot-id": 1, "timestamp-ms": at, "summary": {"added-records": age}}
    properties = {"history.expire.max-snapshot-age-ms": age}
    left = probe(table(first, snapshot(2, 1), current=2, properties=properties), 1).lossless_for
    assert left is not None
    assert left >= timedelta(0)
