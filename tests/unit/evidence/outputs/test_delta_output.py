"""What a Delta table tells of the batches in it, from its log, damaged logs included."""

from __future__ import annotations

import json
import pickle
from datetime import timedelta
from typing import Any

import pytest

from holdfast.errors import ReadError
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.outputs.delta_reader import MOST_COMMITS, read_delta_output
from holdfast.evidence.outputs.output import NotRead
from holdfast.formats.delta_log import find_native_batch
from holdfast.storage.memory import MemoryStorage

QUERY = "6f0c0000-0000-4000-8000-000000000000"


def log_path(version: int, kind: str = "json") -> str:
    return f"_delta_log/{version:020d}.{kind}"


def lines(*actions: dict[str, Any]) -> bytes:
    return "\n".join(map(json.dumps, actions)).encode() + b"\n"


def streaming(batch: int, **more: Any) -> bytes:
    """A commit as Delta 4.4 writes it."""
    info = {
        "timestamp": 1_000 + batch,
        "operation": "STREAMING UPDATE",
        "operationParameters": {"outputMode": "Append", "queryId": QUERY, "epochId": str(batch)},
        "operationMetrics": {"numRemovedFiles": "0", "numOutputRows": "3"},
    }
    txn = {"appId": QUERY, "version": batch, "lastUpdated": 1_000 + batch}
    return lines({"commitInfo": {**info, **more}}, {"txn": txn}, {"add": {"path": "a"}})


def other(operation: str, **parameters: Any) -> bytes:
    return lines({"commitInfo": {"operation": operation, "operationParameters": parameters}})


def table(*commits: bytes) -> MemoryStorage:
    return MemoryStorage({log_path(version): raw for version, raw in enumerate(commits)})


def read(storage: MemoryStorage) -> DeltaOutput:
    found = read_delta_output(storage, "gold")
    assert isinstance(found, DeltaOutput)
    assert pickle.loads(pickle.dumps(found)) == found
    return found


def test_batches_of_a_query_are_found_newest_first() -> None:
    found = read(table(streaming(0), streaming(1), other("OPTIMIZE")))
    assert [each.version for each in found.commits] == [2, 1, 0]
    assert found.last_batch(QUERY) == 1
    assert found.reads_all
    assert found.knows_all
    commit = found.commit_of(QUERY, 0)
    assert commit is not None
    assert (commit.rows, commit.written_ms, commit.output_mode) == (3, 1_000, "Append")
    assert commit.is_streaming
    assert found.commit_of(QUERY, 7) is None
    assert found.last_batch("another") is None


def test_no_table_is_a_finding_not_an_error() -> None:
    found = read(MemoryStorage({"part-0.parquet": b""}))
    assert found.newest == -1
    assert not found.commits
    assert not found.reads_all


def test_table_id_and_retention_are_those_of_the_newest_metadata() -> None:
    def metadata(table_id: str, retention: str) -> bytes:
        settings = {"delta.setTransactionRetentionDuration": retention}
        return lines(
            {"metaData": {"id": table_id, "configuration": settings, "createdTime": 5}},
            {"commitInfo": {"operation": "SET TBLPROPERTIES"}},
        )

    found = read(table(metadata("old", "interval 1 day"), metadata("new", "interval 2 weeks")))
    assert (found.table_id, found.created_ms) == ("new", 5)
    assert found.transaction_retention == timedelta(days=14)


def test_older_transactions_come_from_the_checksum_file() -> None:
    storage = MemoryStorage({log_path(version): other("OPTIMIZE") for version in (40, 41)})
    checksum = {
        "setTransactions": [{"appId": QUERY, "version": 12, "lastUpdated": 5}],
        "metadata": {"id": "t", "configuration": {}, "createdTime": 3},
    }
    storage.files[log_path(41, "crc")] = json.dumps(checksum).encode()
    found = read(storage)
    assert found.last_batch(QUERY) == 12
    assert (found.table_id, found.created_ms) == ("t", 3)
    assert found.knows_all
    assert not found.reads_all


@pytest.mark.parametrize(
    "checksum",
    [b"", b"\xff\xfe", b"[]", b'{"setTransactions":{}}', b'{"setTransactions":[7]}', b"{"],
)
def test_a_damaged_checksum_file_tells_nothing(checksum: bytes) -> None:
    storage = MemoryStorage({log_path(41): other("OPTIMIZE"), log_path(41, "crc"): checksum})
    found = read(storage)
    assert not found.remembered
    assert not found.knows_all


@pytest.mark.parametrize(
    ("raw", "restores", "replaces"),
    [
        (other("RESTORE", version=0, timestamp=None), 0, False),
        (other("RESTORE", version=None, timestamp="2026-11-16"), None, False),
        (other("TRUNCATE"), None, True),
        (other("DELETE", predicate='["true"]'), None, True),
        (other("DELETE", predicate='["(id = 1)"]'), None, False),
        (other("WRITE", mode="Overwrite"), None, True),
        (other("WRITE", mode="Overwrite", predicate="id < 5"), None, False),
        (other("WRITE", mode="Append"), None, False),
        (other("OPTIMIZE"), None, False),
    ],
)
def test_what_takes_out_what_was_there(raw: bytes, restores: int | None, replaces: bool) -> None:
    newest = read(table(streaming(0), raw)).commits[0]
    assert (newest.restores, newest.replaces_all) == (restores, replaces)


def test_a_table_that_an_overwrite_created_replaces_nothing() -> None:
    assert not read(table(other("WRITE", mode="Overwrite"))).commits[0].replaces_all


def test_a_missing_version_ends_the_walk() -> None:
    storage = table(*(streaming(batch) for batch in range(6)))
    del storage.files[log_path(2)]
    storage.files["_delta_log/_last_checkpoint"] = b'{"version":4}'
    found = read(storage)
    assert [each.version for each in found.commits] == [5, 4, 3]
    assert not found.reads_all


def test_no_more_commits_are_read_than_are_stated() -> None:
    requests = 0

    class Counting(MemoryStorage):
        def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
            nonlocal requests
            requests += 1
            return super().read(path, start=start, length=length)

    versions = range(MOST_COMMITS + 100)
    found = read(Counting({log_path(each): streaming(each) for each in versions}))
    assert len(found.commits) == MOST_COMMITS
    assert requests <= 300


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        streaming(1)[:-20],
        streaming(1)[:40],
        b'{"commitInfo":{"operation":"\xff\xfe"\n',
        b"\x00\x01\x02",
    ],
)
def test_a_damaged_commit_is_not_read_around(raw: bytes) -> None:
    found = read_delta_output(table(streaming(0), raw), "gold")
    assert found == NotRead(display_name="gold", why="commit 1 in _delta_log is damaged")


@pytest.mark.parametrize(
    "info",
    [
        {"operation": 7, "operationParameters": [], "operationMetrics": None, "timestamp": "x"},
        {"operationMetrics": {"numOutputRows": "-1"}, "timestamp": 2**70},
        {"operation": "RESTORE", "operationParameters": {"version": "9" * 40}},
    ],
)
def test_fields_of_other_types_say_nothing(info: dict[str, Any]) -> None:
    commit = read(table(lines({"commitInfo": info}))).commits[0]
    assert (commit.rows, commit.written_ms, commit.restores) == (None, None, None)


def test_foreign_files_in_the_log_are_ignored() -> None:
    storage = table(streaming(0))
    storage.files |= {
        "_delta_log/notes.json": b"{}",
        "_delta_log/.00000000000000000000.json.crc": b"x",
        "_delta_log/00000000000000000009.checkpoint.parquet": b"PAR1",
        "_delta_log/_last_checkpoint": b"\xff",
    }
    assert read(storage).newest == 0


def test_what_may_not_be_read_is_said() -> None:
    class Refusing(MemoryStorage):
        def read(self, path: str, **_part: object) -> bytes | None:
            raise ReadError(path, why="Access was denied.", how="Ask.")

    found = read_delta_output(Refusing(), "gold")
    assert found == NotRead(display_name="gold", why="Access was denied")


def test_the_ledger_reads_the_same_log() -> None:
    storage = table(streaming(0), streaming(1))
    assert find_native_batch(storage, QUERY) == read(storage).last_batch(QUERY) == 1
