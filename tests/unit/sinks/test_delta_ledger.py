"""The ledger in a Delta log: read back from files, over other writers, with what was lost named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from holdfast.formats.delta_log import (
    NATIVE_FENCE,
    Commit,
    find_native_batch,
    newest_version,
    parse_commit,
    walk_back,
)
from holdfast.ids import BatchId, QueryId
from holdfast.ledger import Binding, LedgerRow
from holdfast.sinks.delta.commit_notes import decode_row, encode_fence, encode_row
from holdfast.sinks.delta.log_ledger import DeltaLedger, app_id, transaction_version
from holdfast.storage.memory import MemoryStorage

APP = app_id("readings", "gold")
ROW = LedgerRow(
    stream="readings",
    sink="gold",
    generation=1,
    epoch=3,
    nonce="n3",
    binding=Binding(query_id=QueryId("6f0c"), checkpoint="s3://lake/streams/readings"),
    last_batch=BatchId(4),
    digest="d4",
    end_offsets='{"0":5}',
)


def commit(note: str = "", *, app: str | None = APP, **info: Any) -> bytes:
    lines: list[Any] = [{"commitInfo": {"operation": "WRITE", **info, "userMetadata": note}}]
    if app is not None:
        lines.append({"txn": {"appId": app, "version": info.get("version", 1)}})
    lines.append({"add": {"path": "part-0", "stats": '{"txn":1}'}})
    return "\n".join(json.dumps(line) for line in lines).encode()


def table(*commits: bytes, first: int = 0) -> MemoryStorage:
    named = {f"_delta_log/{first + at:020}.json": raw for at, raw in enumerate(commits)}
    return MemoryStorage(named)


FOREIGN = commit(app=None)


class Counting(MemoryStorage):
    """A log that counts what is asked of it, and is never listed."""

    def __init__(self, log: MemoryStorage) -> None:
        super().__init__(log.files)
        self.asked = 0
        self.read_paths: list[str] = []

    def list(self, directory: str = "") -> Any:
        raise AssertionError(f"{directory} was listed")

    def stat(self, path: str) -> Any:
        self.asked += 1
        return super().stat(path)

    def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes | None:
        self.read_paths.append(path)
        return super().read(path, start=start, length=length)


def test_a_row_comes_back_as_it_was_written() -> None:
    assert decode_row(encode_row(ROW)) == ROW
    first = replace(ROW, digest=None, generation=0, epoch=0, last_batch=BatchId(0))
    assert decode_row(encode_row(first)) == first


@pytest.mark.parametrize("note", ["", "by hand", "{}", "[]", encode_fence(epoch=1, nonce="n")])
def test_a_note_of_somebody_else_is_no_row(note: str) -> None:
    assert decode_row(note) is None


@pytest.mark.parametrize("name", ["generation", "epoch", "last_batch"])
def test_a_row_without_one_of_its_numbers_is_none(name: str) -> None:
    fields = json.loads(encode_row(ROW))
    assert decode_row(json.dumps({**fields, name: "3"})) is None
    del fields[name]
    assert decode_row(json.dumps(fields)) is None


def test_versions_order_generation_above_epoch_above_batch() -> None:
    order = [(1, 1, 0), (1, 1, 1), (1, 1, 2), (1, 1, 2**32 - 1), (1, 2, 0), (2, 1, 0), (2, 2, 5)]
    versions = [transaction_version(*each) for each in order]
    assert versions == sorted(set(versions))
    assert transaction_version(2**10 - 1, 2**21 - 1, 2**32 - 1) == 2**63 - 1
    for beyond in ((2**10, 1, 1), (1, 2**21, 1), (1, 1, 2**32)):
        with pytest.raises(OverflowError):
            transaction_version(*beyond)


@pytest.mark.parametrize("commits", [1, 2, 3, 40, 1025])
@pytest.mark.parametrize("has_checkpoint", [False, True])
def test_the_newest_version_is_found_without_listing(
    commits: int, *, has_checkpoint: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = table(*[FOREIGN] * commits)
    if has_checkpoint:
        found.put("_delta_log/_last_checkpoint", json.dumps({"version": commits // 2}).encode())
    monkeypatch.setattr(MemoryStorage, "list", None)
    assert newest_version(found) == commits - 1


@pytest.mark.parametrize("known", [None, 7, 8, 900])
def test_where_to_begin_is_known_or_in_the_last_checkpoint(known: int | None) -> None:
    log = Counting(table(*[FOREIGN] * 1000, first=7))
    log.put("_delta_log/_last_checkpoint", json.dumps({"version": 500}).encode())
    assert newest_version(log, known=known) == 1006
    assert log.asked <= 25


@pytest.mark.parametrize(
    "checkpoint", [b"", b"\xff", b"[]", b'{"version":"1"}', b'{"version":99}', b"{}"]
)
def test_a_last_checkpoint_that_is_damaged_or_gone_is_walked_round(checkpoint: bytes) -> None:
    log = table(FOREIGN, FOREIGN, FOREIGN)
    log.put("_delta_log/_last_checkpoint", checkpoint)
    assert newest_version(log) == 2


def test_only_what_is_new_is_read_again() -> None:
    """And of what is known, the stream's own newest commit."""
    log = Counting(table(*[FOREIGN] * 20, commit(encode_row(ROW)), first=7))
    ledger = DeltaLedger(log, APP)
    log.put("_delta_log/_last_checkpoint", b'{"version":27}')
    ledger.read()
    own = f"_delta_log/{27:020}.json"
    assert log.read_paths == ["_delta_log/_last_checkpoint", own]
    for _ in range(3):
        log.read_paths.clear()
        ledger.read()
        assert log.read_paths == [own]
    log.put(f"_delta_log/{28:020}.json", FOREIGN)
    log.put(f"_delta_log/{29:020}.json", FOREIGN)
    log.read_paths.clear()
    found = ledger.read()
    assert log.read_paths == [own, *(f"_delta_log/{at:020}.json" for at in (28, 29))]
    assert found is not None
    assert (found.newest, found.row, found.row_version) == (29, ROW, 27)


def test_the_row_of_another_stream_is_walked_over() -> None:
    other = replace(ROW, stream="other")
    theirs = commit(encode_row(other), app=app_id("other", "gold"))
    log = table(commit(encode_row(ROW)), theirs, theirs, FOREIGN)
    found = DeltaLedger(log, APP).read()
    assert found is not None
    assert found.row == ROW


def test_a_fence_without_a_row_is_known_and_no_row() -> None:
    log = table(FOREIGN, commit(encode_fence(epoch=9, nonce="n9")))
    found = DeltaLedger(log, APP).read()
    assert found is not None
    assert (found.row, found.fenced_at, found.own and found.own.version) == (None, 1, 1)


def test_what_was_emptied_before_the_stream_began_is_its_own_business() -> None:
    log = table(commit(app=None, operation="TRUNCATE"))
    found = DeltaLedger(log, APP).read()
    assert found is not None
    assert found.replaced_by is None


def test_a_log_that_was_cleaned_up_is_listed() -> None:
    assert newest_version(table(FOREIGN, FOREIGN, first=7)) == 8
    assert newest_version(table()) is None
    assert DeltaLedger(table(), APP).read() is None


def test_other_writers_are_walked_over_and_a_fence_keeps_the_row() -> None:
    log = table(FOREIGN, commit(encode_row(ROW)), *[FOREIGN] * 40)
    log.put(f"_delta_log/{42:020}.json", commit(encode_fence(epoch=9, nonce="n9")))
    found = DeltaLedger(log, APP).read()
    assert found is not None
    assert found.row == replace(ROW, epoch=9, nonce="n9")
    assert (found.newest, found.own and found.own.version) == (42, 42)
    assert [each.version for each in walk_back(log, 42)] == list(range(42, -1, -1))


def test_what_an_older_driver_slipped_in_before_the_fence_counts() -> None:
    log = table(commit(encode_row(ROW)))
    ledger = DeltaLedger(log, APP)
    ledger.read()
    later = replace(ROW, last_batch=BatchId(5), digest="d5")
    log.put(f"_delta_log/{1:020}.json", commit(encode_row(later)))
    log.put(f"_delta_log/{2:020}.json", commit(encode_fence(epoch=9, nonce="n9")))
    for reader in (ledger, DeltaLedger(log, APP)):
        found = reader.read()
        assert found is not None
        assert found.row == replace(later, epoch=9, nonce="n9")


def test_a_commit_of_ours_that_another_replaced_is_noticed() -> None:
    """A store without conditional writes lets that happen."""
    log = table(commit(encode_row(ROW)), commit(encode_fence(epoch=9, nonce="n9")))
    ledger = DeltaLedger(log, APP)
    ledger.read()
    slipped = replace(ROW, last_batch=BatchId(5), digest="d5")
    log.put(f"_delta_log/{1:020}.json", commit(encode_row(slipped)))
    found = ledger.read()
    assert found is not None
    assert found.row == slipped


def test_a_commit_of_ours_that_was_cleaned_up_is_still_known() -> None:
    log = table(commit(encode_row(ROW)), FOREIGN)
    ledger = DeltaLedger(log, APP)
    ledger.read()
    log.delete(f"_delta_log/{0:020}.json")
    found = ledger.read()
    assert found is not None
    assert found.row == ROW


REPLACING: dict[str, tuple[dict[str, Any], bool]] = {
    "restored below it": ({"operation": "RESTORE", "operationParameters": {"version": 0}}, True),
    "restored to it": ({"operation": "RESTORE", "operationParameters": {"version": "1"}}, False),
    "restored by time": (
        {"operation": "RESTORE", "operationParameters": {"version": None, "timestamp": "t"}},
        True,
    ),
    "overwritten": ({"operationParameters": {"mode": "Overwrite"}}, True),
    "appended to": ({"operationParameters": {"mode": "Append"}}, False),
    "truncated": ({"operation": "TRUNCATE"}, True),
    "all deleted": ({"operation": "DELETE", "operationParameters": {"predicate": "[]"}}, True),
    "all deleted by a condition": (
        {"operation": "DELETE", "operationParameters": {"predicate": '["true"]'}},
        True,
    ),
    "deleted without a word": ({"operation": "DELETE"}, True),
    "replaced": ({"operation": "REPLACE TABLE"}, True),
    "created again": ({"operation": "CREATE OR REPLACE TABLE"}, True),
    "restored to a later one": (
        {"operation": "RESTORE", "operationParameters": {"version": 2}},
        False,
    ),
    "some deleted": ({"operation": "DELETE", "operationParameters": {"predicate": '["x"]'}}, False),
    "optimised": ({"operation": "OPTIMIZE"}, False),
}


@pytest.mark.parametrize(("info", "expected"), REPLACING.values(), ids=list(REPLACING))
def test_what_takes_the_data_out_is_told(*, info: dict[str, Any], expected: bool) -> None:
    log = table(FOREIGN, commit(encode_row(ROW)), commit(app=None, **info), FOREIGN)
    found = DeltaLedger(log, APP).read()
    assert found is not None
    assert (found.replaced_by is not None) == expected
    log.put(f"_delta_log/{4:020}.json", commit(encode_row(ROW)))
    found = DeltaLedger(log, APP).read()
    assert found is not None
    assert found.replaced_by is None, "a row written since then has taken it into account"


def test_the_last_batch_of_a_native_stream_is_found_below_its_fence() -> None:
    native = [commit(app="6f0c", version=batch) for batch in range(3)]
    log = table(*native, FOREIGN, commit(app="6f0c", version=NATIVE_FENCE))
    assert find_native_batch(log, "6f0c") == 2
    assert find_native_batch(log, "77aa") is None
    assert find_native_batch(table(), "77aa") is None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe",
        b'{"commitInfo":7}\n{"txn":[]}\n{"txn":{"appId":"x","version":"1"}}',
        b'{"commitInfo":{"operationParameters":3}}\n{"txn":{"appId":"x","version":true}}',
        b'{"txn":' + b"[" * 5000,
    ],
)
def test_a_commit_that_is_damaged_says_nothing(raw: bytes) -> None:
    found = parse_commit(3, raw)
    assert (found.version, found.transactions, found.note) == (3, {}, "")


def test_the_lines_of_a_commit_may_come_in_any_order() -> None:
    lines = [
        b'{"add":{"path":"part-0"}}',
        b'{"txn":{"appId":"x","version":7}}',
        b'{"metaData":{}}',
        b'{"commitInfo":{"operation":"WRITE","userMetadata":"note \xff"}}',
        b'{"txn":{"appId":"y","version":8}}',
    ]
    expected = {"operation": "WRITE", "note": "note \ufffd", "transactions": {"x": 7, "y": 8}}
    for found in (lines, lines[::-1]):
        assert parse_commit(3, b"\n".join(found)) == Commit(version=3, **expected)  # type: ignore[arg-type]
    assert parse_commit(4, b'{"commitInfo":{}}') == Commit(version=4)


def test_a_fence_that_another_commit_has_replaced_is_missed() -> None:
    """As on a store without conditional writes, by a driver that stood still in its commit."""
    fence = commit(encode_fence(epoch=3, nonce="n3"))
    log = table(FOREIGN, fence, commit(encode_row(ROW, fenced_at=1)))
    ledger = DeltaLedger(log, APP)
    for known in (ledger, DeltaLedger(log, APP)):
        found = known.read()
        assert found is not None
        assert found.fenced_at == 1
        assert known.lost_fence() is None
    log.put(f"_delta_log/{1:020}.json", commit(encode_row(replace(ROW, epoch=2))))
    later = DeltaLedger(log, APP)
    later.read()
    assert (ledger.lost_fence(), later.lost_fence()) == (1, 1)


def test_a_fence_that_was_cleaned_up_is_not_missed() -> None:
    log = table(commit(encode_row(ROW, fenced_at=1)), first=5)
    ledger = DeltaLedger(log, APP)
    ledger.read()
    assert ledger.lost_fence() is None


def test_a_row_that_says_nothing_of_its_fence_is_taken_as_it_is() -> None:
    ledger = DeltaLedger(table(FOREIGN, commit(encode_row(ROW))), APP)
    ledger.read()
    assert ledger.lost_fence() is None
