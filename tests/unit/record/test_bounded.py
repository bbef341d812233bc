"""What a start and a heartbeat ask the store for does not grow with the starts before."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from holdfast.record.bounds import MAX_EPOCH
from holdfast.record.contracts import contract_before
from holdfast.record.documents import encode
from holdfast.record.epochs import MAX_MISSING, EpochJumpError, newest_epoch
from holdfast.record.layout import lease_path, run_path
from holdfast.record.leases import Lease, read_lease, renew, take_lease
from holdfast.record.owner import this_process
from holdfast.record.runs import newest_run
from holdfast.storage.memory import MemoryStorage
from tests.unit.record.counted import CONTRACT, LEASE, RUN, RUN_ID, CountedStorage, record_of


def put_leases(record: MemoryStorage, *epochs: int) -> None:
    for epoch in epochs:
        record.files[lease_path(epoch)] = encode(msgspec.structs.replace(LEASE, epoch=epoch))


def put_runs(record: MemoryStorage, *epochs: int) -> None:
    for epoch in epochs:
        record.files[run_path(epoch, RUN_ID)] = encode(msgspec.structs.replace(RUN, epoch=epoch))


def requests_of_a_start(starts: int) -> Counter[str]:
    record = record_of(starts)
    lease = take_lease(record, this_process(), after=starts)
    assert lease.epoch == starts + 1
    assert contract_before(record, epoch=lease.epoch) == CONTRACT
    return record.requests


def test_a_start_asks_for_as_much_after_10_000_starts_as_after_10() -> None:
    assert requests_of_a_start(10) == requests_of_a_start(10_000)
    assert requests_of_a_start(10) == {"list": 2, "get": 3, "put": 1}


def test_a_heartbeat_lists_nothing() -> None:
    record = record_of(10_000)
    lease = take_lease(record, this_process(), after=10_000)
    record.requests.clear()
    assert renew(record, lease) is not None
    assert record.requests == {"head": 1, "put": 1}


def test_a_start_that_waits_lists_nothing_either(monkeypatch: pytest.MonkeyPatch) -> None:
    record = record_of(10)
    held = msgspec.structs.replace(LEASE, epoch=10, released=False)
    record.files[held.path] = encode(held)
    monkeypatch.setattr("holdfast.record.leases.time.sleep", lambda _: None)
    seconds = iter(range(100))
    monkeypatch.setattr("holdfast.record.leases.clock.monotonic", lambda: float(next(seconds)))
    assert take_lease(record, this_process(), after=10).epoch == 11
    assert record.requests["list"] == 1
    assert record.requests["get"] > 20


@pytest.mark.parametrize("after", [None, 0, 20_000])
def test_without_a_hint_that_fits_every_lease_is_listed(after: int | None) -> None:
    """No sink has a ledger, no ledger has a row, or the record is older than the sinks."""
    record = record_of(2_500)
    assert newest_epoch(record, after=after) == 2_500
    assert record.requests["list"] == 3 + (1 if after else 0)


def test_starts_that_never_reached_a_sink_are_found_page_by_page() -> None:
    record = record_of(4_000)
    assert newest_epoch(record, after=1_500) == 4_000
    assert record.requests["list"] == 3


@pytest.mark.parametrize("newest", [999_998, 999_999, 1_000_000, 1_000_003])
def test_a_name_of_seven_digits_is_not_overlooked(newest: int) -> None:
    """`1000000.json` is listed before `999999.json`."""
    record = CountedStorage()
    put_leases(record, *range(999_990, newest + 1))
    for after in (999_990, 999_995, newest):
        assert newest_epoch(record, after=after) == newest
    put_runs(record, *range(999_990, newest + 1))
    found = newest_run(record, before=newest + 1)
    assert found is not None
    assert found.epoch == newest


@pytest.mark.parametrize("forged", [60_000, 2_000_000, MAX_EPOCH, 10**17])
def test_a_jump_is_found_without_listing_what_comes_before(forged: int) -> None:
    record = record_of(3_000)
    record.files[f"leases/{forged:06d}.json"] = b"{}"
    with pytest.raises(EpochJumpError):
        take_lease(record, this_process(), after=3_000)


def test_a_jump_is_counted_from_what_the_sinks_hold() -> None:
    record = record_of(10)
    put_leases(record, 10 + MAX_MISSING + 1)
    assert newest_epoch(record, after=10) == 10 + MAX_MISSING + 1
    put_leases(record, 10 + MAX_MISSING + 3)
    with pytest.raises(EpochJumpError):
        newest_epoch(record, after=10)


def test_an_owner_learns_of_a_successor_whose_epoch_is_far_above() -> None:
    """A sink that the owner does not write to holds epoch 40, as in a record from a backup."""
    record = MemoryStorage()
    old = take_lease(record, this_process(), after=4)
    assert old.epoch == 5
    new = take_lease(record, this_process(), after=40, takeover=True)
    assert new.epoch == 41
    assert renew(record, old) is None
    assert renew(record, new) is not None


def test_the_epoch_between_is_not_waited_for() -> None:
    record = MemoryStorage()
    take_lease(record, this_process())
    take_lease(record, this_process(), after=40, takeover=True)
    between = read_lease(record, 2)
    assert isinstance(between, Lease)
    assert between.released
    assert sorted(record.files) == [lease_path(epoch) for epoch in (1, 2, 41)]


def test_a_record_without_a_lease_has_no_owner_to_tell() -> None:
    record = MemoryStorage()
    assert take_lease(record, this_process(), after=40).epoch == 41
    assert list(record.files) == [lease_path(41)]


def test_a_run_is_looked_for_among_the_last_starts_and_then_among_all() -> None:
    record = CountedStorage()
    put_runs(record, *range(1, 11))
    found = newest_run(record, before=5_000)
    assert found is not None
    assert (found.epoch, record.requests["list"]) == (10, 2)
    record.requests.clear()
    put_runs(record, 4_990, 4_999, 5_000, 5_001)
    found = newest_run(record, before=5_000)
    assert found is not None
    assert (found.epoch, record.requests["list"]) == (4_999, 1)
