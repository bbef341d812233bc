"""What a Delta table can still give to a stream, from its log, damaged logs included."""

from __future__ import annotations

import json
import pickle
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast.errors import ReadError
from holdfast.sources.delta.commits import compare_schemas, parse_source_commit
from holdfast.sources.delta.found import DeltaSource, SchemaChange
from holdfast.sources.delta.kind import DeltaOffset
from holdfast.sources.delta.probe import MOST_AHEAD, MOST_FILES, probe_delta
from holdfast.sources.probe import NotProbed, SourceProbe
from holdfast.storage.memory import MemoryStorage

TABLE = "aaaa0000-0000-4000-8000-000000000000"
NOW = datetime(2026, 11, 15, tzinfo=UTC)
DAY_MS = 86_400_000
NOW_MS = int(NOW.timestamp() * 1_000)


def log_path(version: int, kind: str = "json") -> str:
    return f"_delta_log/{version:020d}.{kind}"


def lines(*actions: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(each, separators=(",", ":")) for each in actions).encode() + b"\n"


def info(operation: str = "WRITE", days: int = 1, **metrics: str) -> dict[str, Any]:
    made = {"operation": operation, "timestamp": NOW_MS - days * DAY_MS}
    return {"commitInfo": {**made, "operationMetrics": metrics}}


def add(path: str, *, changes: bool = True) -> dict[str, Any]:
    stats = json.dumps({"numRecords": 3})
    return {"add": {"path": path, "dataChange": changes, "stats": stats}}


def remove(path: str, *, changes: bool = True) -> dict[str, Any]:
    return {"remove": {"path": path, "dataChange": changes}}


def schema(*columns: str) -> str:
    fields = [{"name": each, "type": "long", "nullable": True, "metadata": {}} for each in columns]
    return json.dumps({"type": "struct", "fields": fields})


def metadata(
    table_id: str = TABLE,
    columns: tuple[str, ...] = ("id",),
    settings: dict[str, str] | None = None,
) -> dict[str, Any]:
    text = schema(*columns)
    return {"metaData": {"id": table_id, "schemaString": text, "configuration": settings or {}}}


def table(count: int = 4, settings: dict[str, str] | None = None) -> MemoryStorage:
    """A table of appends, one file each; version 0 describes it."""
    files = {f"part-{version}": b"x" for version in range(count)}
    log = {
        log_path(version): lines(info(days=count - version), add(f"part-{version}"))
        for version in range(count)
    }
    log[log_path(0)] = lines(info(days=count), metadata(settings=settings), add("part-0"))
    return MemoryStorage({**files, **log})


def probe(storage: MemoryStorage, version: int = 2, *, snapshot: bool = False) -> SourceProbe:
    needed = DeltaOffset(table_id=TABLE, version=version, index=-1, initial_snapshot=snapshot)
    found = probe_delta("0", needed, storage, now=NOW)
    assert pickle.loads(pickle.dumps(found)) == found
    return found


def look(storage: MemoryStorage, version: int = 2, *, snapshot: bool = False) -> DeltaSource:
    found = probe(storage, version, snapshot=snapshot).found
    assert isinstance(found, DeltaSource)
    return found


def test_a_healthy_source() -> None:
    found = look(table())
    assert (found.earliest, found.newest, found.table_id) == (0, 3, TABLE)
    assert [each.version for each in found.pending] == [2, 3]
    assert all(each.is_append and each.added_rows == 3 for each in found.pending)
    assert (found.files, found.files_checked, found.files_gone) == (2, 2, 0)
    assert found.is_same_table
    assert not found.missing


def test_a_stream_in_its_first_snapshot_has_read_that_version() -> None:
    assert [each.version for each in look(table(), snapshot=True).pending] == [3]


def test_no_table() -> None:
    found = look(MemoryStorage())
    assert found.newest == -1
    assert not found.is_same_table
    assert not found.pending


def test_another_table_has_nothing_pending() -> None:
    storage = table()
    storage.files[log_path(0)] = lines(info(), metadata("another"))
    found = look(storage)
    assert found.table_id == "another"
    assert not found.pending
    assert probe(storage).lossless_for is None


def test_a_log_that_was_cleaned_up() -> None:
    storage = table(6)
    for version in range(4):
        del storage.files[log_path(version)]
    storage.files["_delta_log/_last_checkpoint"] = b'{"version":4}'
    storage.files[log_path(4, "checkpoint.parquet")] = b"PAR1"
    storage.files[log_path(5, "crc")] = json.dumps(
        {"metadata": {"id": TABLE, "configuration": {}}}
    ).encode()
    found = look(storage)
    assert (found.earliest, found.missing, found.table_id) == (4, (2, 3), TABLE)
    assert probe(storage).lossless_for == timedelta(0)


def test_an_id_that_is_only_in_a_checkpoint_of_delta_is_not_known() -> None:
    storage = MemoryStorage({log_path(7): lines(info(), add("a")), "a": b""})
    found = look(storage, 7)
    assert found.table_id is None
    assert found.is_same_table
    assert probe(storage, 7).lossless_for is None


def test_changes_are_counted() -> None:
    storage = table()
    storage.files[log_path(4)] = lines(
        info("MERGE", numTargetRowsInserted="2", numTargetRowsUpdated="1"),
        remove("part-1"),
        add("part-4"),
    )
    storage.files[log_path(5)] = lines(
        info("OPTIMIZE"), remove("part-2", changes=False), add("part-5", changes=False)
    )
    merged, optimized = look(storage).pending[-2:]
    assert (merged.is_append, merged.new_rows, merged.removed_files) == (False, 3, 1)
    assert (optimized.is_append, optimized.added_files) == (True, 0)


def test_missing_data_files_are_counted() -> None:
    storage = table()
    del storage.files["part-3"]
    found = look(storage)
    assert (found.files_checked, found.files_gone, found.gone_version) == (2, 1, 3)
    assert probe(storage).lossless_for == timedelta(0)


@pytest.mark.parametrize("path", ["/lake/a", "s3://lake/a", "../../etc/passwd", "c:/a", 7, ""])
def test_a_file_outside_the_table_is_not_looked_for(path: object) -> None:
    raw = lines(info(), {"add": {"path": path, "dataChange": True}})
    assert parse_source_commit(1, raw).added == ()


def test_a_path_is_decoded() -> None:
    raw = lines(info(), add("day=2026-11-15/a%20b"))
    assert parse_source_commit(1, raw).added == ("day=2026-11-15/a b",)


def test_the_log_counts_down_from_the_oldest_pending_version() -> None:
    found = probe(table(4))
    assert found.lossless_for == timedelta(days=28)
    assert "30 days" in found.lossless_by


def test_versions_of_the_last_batch_count_too() -> None:
    def offset(version: int) -> DeltaOffset:
        return DeltaOffset(table_id=TABLE, version=version, index=-1, initial_snapshot=False)

    found = probe_delta("0", offset(3), table(4), now=NOW, listed=offset(1))
    assert found.lossless_for == timedelta(days=27)
    found = probe_delta("0", offset(4), table(4), now=NOW, listed=offset(3))
    assert found.lossless_for == timedelta(days=29)


def test_the_table_says_how_long_its_log_is_kept() -> None:
    storage = table(4, {"delta.logRetentionDuration": "interval 3 days"})
    assert probe(storage).lossless_for == timedelta(days=1)
    storage = table(4, {"delta.logRetentionDuration": "for ever"})
    assert probe(storage).lossless_for is None


def test_a_removed_file_counts_down_faster() -> None:
    storage = table(4)
    storage.files[log_path(4)] = lines(info("OPTIMIZE", days=5), remove("part-2", changes=False))
    assert probe(storage).lossless_for == timedelta(days=2)


def test_a_stream_that_has_read_everything_has_the_whole_time() -> None:
    found = probe(table(4), 4)
    assert found.lossless_for == timedelta(days=30)
    assert "read everything" in found.lossless_by


@pytest.mark.parametrize(
    ("after", "change"),
    [
        (("id",), SchemaChange.NONE),
        (("id", "note"), SchemaChange.ADDED),
        (("key",), SchemaChange.OTHER),
    ],
)
def test_schemas_are_compared(after: tuple[str, ...], change: SchemaChange) -> None:
    storage = table()
    storage.files[log_path(4)] = lines(info("ALTER"), metadata(columns=after))
    assert look(storage).pending[-1].schema is change


def test_a_schema_without_one_before_is_unknown() -> None:
    assert compare_schemas(None, schema("id")) is SchemaChange.UNKNOWN
    assert compare_schemas(schema("id"), "{") is SchemaChange.OTHER


def test_a_nested_column_may_be_added() -> None:
    def nested(*inner: str) -> str:
        kind = json.loads(schema(*inner))
        return json.dumps({"type": "struct", "fields": [{"name": "a", "type": kind}]})

    assert compare_schemas(nested("x"), nested("x", "y")) is SchemaChange.ADDED
    assert compare_schemas(nested("x", "y"), nested("x")) is SchemaChange.OTHER


def test_no_more_is_asked_than_is_stated() -> None:
    asked = 0

    class Counting(MemoryStorage):
        def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
            nonlocal asked
            asked += 1
            return super().read(path, start=start, length=length)

        def stat(self, path: str) -> Any:
            nonlocal asked
            asked += 1
            return super().stat(path)

    found = look(Counting(table(500).files), 100)
    assert asked <= 160
    assert found.unread == 500 - 100 - MOST_AHEAD
    assert found.files_checked == MOST_FILES
    assert probe(table(500), 100).lossless_for is None


@pytest.mark.parametrize("raw", [b"", b'{"commitInfo":{"operat', b"\xff\xfe{", b"\x00"])
def test_a_damaged_commit_is_named(raw: bytes) -> None:
    storage = table()
    storage.files[log_path(3)] = raw
    assert look(storage).damaged == (3,)
    assert probe(storage).lossless_for is None


def test_fields_of_other_types_say_nothing() -> None:
    raw = lines(
        {"commitInfo": {"timestamp": 2**62, "operationMetrics": {"numOutputRows": []}}},
        {"add": {"path": "a", "stats": "{"}},
        {"add": []},
        {"remove": {"path": None}},
    )
    found = parse_source_commit(1, raw).counted
    assert (found.added_rows, found.new_rows, found.added_files) == (None, None, 1)
    storage = table()
    storage.files[log_path(2)] = raw
    storage.files["a"] = b""
    assert probe(storage).lossless_for is None


def test_foreign_files_are_no_versions() -> None:
    storage = table()
    storage.files |= {"_delta_log/" + name: b"" for name in ("0.txt", "a.json", ".0.json.crc")}
    assert look(storage).earliest == 0


def test_what_may_not_be_read_is_said() -> None:
    class Refusing(MemoryStorage):
        def read(self, path: str, **_part: object) -> bytes | None:
            raise ReadError(path, why="Access was denied.", how="Ask.")

    assert probe(Refusing()).found == NotProbed(why="Access was denied")
