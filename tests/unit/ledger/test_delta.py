"""The ledger in a Delta log: read back from files, over other writers, with what was lost named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from holdfast.ids import BatchId, QueryId
from holdfast.ledger import Binding, LedgerRow
from holdfast.ledger.delta import (
    NATIVE_FENCE,
    DeltaLedger,
    app_id,
    decode_row,
    encode_fence,
    encode_row,
    find_native_batch,
    transaction_version,
)
from holdfast.ledger.delta_log import newest_version, parse_commit, walk_back
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


def test_a_row_comes_back_as_it_was_written() -> None:
    assert decode_row(encode_row(ROW)) == ROW
    assert decode_row(encode_row(replace(ROW, digest=None))) == replace(ROW, digest=None)


@pytest.mark.parametrize("note", ["", "by hand", "{}", "[]", encode_fence(epoch=1, nonce="n")])
def test_a_note_of_somebody_else_is_no_row(note: str) -> None:
    assert decode_row(note) is None


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
