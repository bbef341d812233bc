"""Leases on one machine and across machines, on a clock that the test turns."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from holdfast import clock
from holdfast.record import (
    Lease,
    Owner,
    Waiting,
    is_certainly_dead,
    newest_epoch,
    release,
    renew,
    take_lease,
    this_process,
)
from holdfast.record.bounds import MAX_EPOCH, MAX_GENERATION
from holdfast.record.documents import RecordError, encode
from holdfast.record.epochs import MAX_MISSING, EpochJumpError
from holdfast.record.layout import lease_path
from holdfast.record.leases import LeaseHeldError, read_lease
from holdfast.sinks.delta.log_ledger import transaction_version
from holdfast.storage.memory import MemoryStorage
from holdfast.storage.write import Writer, open_writer

ELSEWHERE = Owner(host="etl-7", pid=4411, machine="another boot", pid_started="1")


@pytest.fixture
def writer(tmp_path: Path) -> Writer:
    return open_writer(str(tmp_path))


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that goes on only by sleeping."""
    passed = [0.0]

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    monkeypatch.setattr(clock, "monotonic", lambda: passed[0])
    monkeypatch.setattr("holdfast.record.leases.time.sleep", sleep)
    return passed


def test_the_first_start_takes_epoch_1(writer: Writer) -> None:
    lease = take_lease(writer, this_process())
    assert (lease.epoch, newest_epoch(writer)) == (1, 1)
    assert read_lease(writer, 1) == lease


def test_a_lease_that_was_given_up_is_not_waited_for(writer: Writer, time: list[float]) -> None:
    release(writer, take_lease(writer, ELSEWHERE))
    assert take_lease(writer, ELSEWHERE).epoch == 2
    assert time == [0.0]


def test_a_killed_owner_of_this_machine_is_not_waited_for(
    writer: Writer, time: list[float]
) -> None:
    program = (
        "import msgspec, holdfast.record as record;"
        "print(msgspec.json.encode(record.this_process()).decode())"
    )
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    gone = msgspec.json.decode(ran.stdout, type=Owner)
    assert is_certainly_dead(gone)
    take_lease(writer, gone)
    assert take_lease(writer, this_process()).epoch == 2
    assert time == [0.0]


def test_a_number_that_was_used_again_is_another_process() -> None:
    me = this_process()
    assert not is_certainly_dead(me)
    assert is_certainly_dead(msgspec.structs.replace(me, pid_started="1"))


def test_a_process_that_proc_hides_is_not_dead(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on a machine whose /proc is mounted with hidepid=2: others' processes are not listed."""
    living = msgspec.structs.replace(this_process(), pid=os.getppid(), pid_started="1")
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "self/ns").mkdir(parents=True)
    boot, namespace = living.machine.split(" ")
    (tmp_path / "sys/kernel/random/boot_id").write_text(boot)
    (tmp_path / "self/ns/pid").symlink_to(namespace)
    monkeypatch.setattr("holdfast.record.owner._PROC", tmp_path)
    assert not is_certainly_dead(living)
    assert is_certainly_dead(msgspec.structs.replace(living, pid=(1 << 32) - 1))


def test_an_owner_elsewhere_is_waited_for_until_its_term_has_passed(
    writer: Writer, time: list[float]
) -> None:
    take_lease(writer, ELSEWHERE)
    told: list[Waiting] = []
    lease = take_lease(writer, this_process(), tell=told.append)
    assert lease.epoch == 2
    assert time[0] == pytest.approx(30.0)
    assert told[0].lease.owner == ELSEWHERE
    assert told[0].seconds_left == pytest.approx(30.0)


def test_a_heartbeat_during_the_wait_is_told(writer: Writer, time: list[float]) -> None:
    told: list[Waiting] = []
    renew_at = renewing_at(writer, time, 9.0, 19.0)

    def tell(waiting: Waiting) -> None:
        told.append(waiting)
        renew_at(waiting)

    take_lease(writer, this_process(), tell=tell)
    renewed = [each.seconds_waited for each in told if each.is_renewed]
    assert renewed == [each.seconds_waited for each in told if each.seconds_waited > 9]
    assert renewed


def renewing_at(writer: Writer, time: list[float], *seconds: float) -> Callable[[Waiting], None]:
    """Return what renews a lease elsewhere at these times, while it is waited for."""
    held: list[Lease] = [take_lease(writer, ELSEWHERE)]

    def tell(_: Waiting) -> None:
        if time[0] in seconds:
            fresh = renew(writer, held[0])
            assert fresh is not None
            held[0] = fresh

    return tell


def test_a_heartbeat_begins_the_term_anew(writer: Writer, time: list[float]) -> None:
    """Its owner was killed soon after it: a start never fails because of that."""
    take_lease(writer, this_process(), tell=renewing_at(writer, time, 9.0, 19.0, 28.0))
    assert time[0] == pytest.approx(59.0)


def test_a_living_owner_is_waited_for_one_term_and_then_named(
    writer: Writer, time: list[float]
) -> None:
    tell = renewing_at(writer, time, 9.0, 19.0, 29.0, 39.0)
    with pytest.raises(LeaseHeldError, match="etl-7/4411") as held:
        take_lease(writer, this_process(), tell=tell)
    assert time[0] == pytest.approx(30.0)
    assert (held.value.owner, newest_epoch(writer)) == (ELSEWHERE, 1)


def test_takeover_does_not_wait_and_the_old_owner_learns_of_it(
    writer: Writer, time: list[float]
) -> None:
    old = take_lease(writer, ELSEWHERE)
    assert take_lease(writer, this_process(), takeover=True).epoch == 2
    assert time == [0.0]
    assert renew(writer, old) is None


def test_renewing_changes_the_nonce_and_nothing_else(writer: Writer) -> None:
    lease = take_lease(writer, this_process())
    fresh = renew(writer, lease)
    assert fresh is not None
    assert fresh.nonce != lease.nonce
    assert msgspec.structs.replace(fresh, nonce=lease.nonce) == lease


def test_of_many_who_take_over_each_gets_an_epoch_of_its_own(writer: Writer) -> None:
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(lambda _: take_lease(writer, ELSEWHERE, takeover=True), range(40)))
    assert sorted(lease.epoch for lease in taken) == list(range(1, 41))
    assert all(read_lease(writer, lease.epoch) == lease for lease in taken)


class LostAnswer(MemoryStorage):
    """A store that makes a file, and whose answer says that it was there."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        self.files.setdefault(path, data)
        return False


def test_a_lease_whose_answer_was_lost_is_recognised() -> None:
    storage = LostAnswer()
    lease = take_lease(storage, this_process())
    assert lease.epoch == 1
    assert list(storage.files) == ["leases/000001.json"]


def test_a_lease_of_a_newer_version_is_not_judged(writer: Writer) -> None:
    lease = msgspec.structs.replace(take_lease(writer, ELSEWHERE), version=2)
    writer.put("leases/000001.json", encode(lease))
    with pytest.raises(RecordError, match="version 2"):
        take_lease(writer, this_process())


def test_a_lease_that_cannot_be_read_stops_the_start(writer: Writer) -> None:
    writer.put("leases/000001.json", b"{")
    with pytest.raises(RecordError, match=r"leases/000001\.json"):
        take_lease(writer, this_process())


def write_leases(writer: Writer, epochs: Iterable[int]) -> None:
    lease = take_lease(MemoryStorage(), ELSEWHERE)
    for epoch in epochs:
        given_up = msgspec.structs.replace(lease, epoch=epoch, released=True)
        writer.put(lease_path(epoch), encode(given_up))


def test_starts_that_never_reach_a_sink_can_be_as_many_as_they_like() -> None:
    """A supervisor that retries a refused start for a night."""
    record = MemoryStorage()
    write_leases(record, range(1, 5001))
    assert take_lease(record, this_process(), after=3).epoch == 5001


def test_old_leases_may_be_deleted() -> None:
    record = MemoryStorage()
    write_leases(record, [40_000])
    assert take_lease(record, this_process()).epoch == 40_001
    assert take_lease(record, this_process(), takeover=True, after=40_000).epoch == 40_002


@pytest.mark.parametrize(
    ("epochs", "after"),
    [
        ([1, MAX_MISSING + 3], 1),
        ([1, 2, MAX_MISSING + 4], 0),
        ([MAX_EPOCH - 1], 0),
        ([MAX_EPOCH], 0),
        ([MAX_EPOCH], MAX_EPOCH - 1),
        ([10**17], 0),
    ],
)
def test_an_epoch_that_nobody_was_given_is_refused(epochs: list[int], after: int) -> None:
    record = MemoryStorage()
    write_leases(record, epochs)
    before = dict(record.files)
    with pytest.raises(EpochJumpError) as refused:
        take_lease(record, this_process(), after=after, takeover=True)
    assert refused.value.location.path == lease_path(epochs[-1])
    assert record.files == before


def test_an_epoch_that_only_a_sink_holds_is_restored_there() -> None:
    with pytest.raises(EpochJumpError, match="ledger row from a backup") as refused:
        take_lease(MemoryStorage(), this_process(), after=MAX_EPOCH)
    assert refused.value.repair == ""


def test_every_generation_and_epoch_fits_a_version_of_delta() -> None:
    assert transaction_version(MAX_GENERATION, MAX_EPOCH, 0) < 1 << 63
    for generation, epoch in ((MAX_GENERATION + 1, 1), (1, MAX_EPOCH + 1)):
        with pytest.raises(OverflowError):
            transaction_version(generation, epoch, 0)


class SaysItIsThere(MemoryStorage):
    """A store that makes nothing, and says that it is there."""

    def put_if_absent(self, path: str, data: bytes) -> bool:
        return not path and not data


def test_a_store_that_contradicts_itself_is_not_asked_for_ever() -> None:
    with pytest.raises(RecordError, match="does not list it"):
        take_lease(SaysItIsThere(), this_process())


def test_a_term_that_the_next_start_would_refuse_is_not_written() -> None:
    record = MemoryStorage()
    with pytest.raises(RecordError, match="could not read it again"):
        take_lease(record, this_process(), term_s=1e300)
    assert record.files == {}
