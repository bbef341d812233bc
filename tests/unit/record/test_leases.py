"""Leases on one machine and across machines, on a clock that the test turns."""

from __future__ import annotations

import subprocess
import sys
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
from holdfast.record.documents import RecordError, encode
from holdfast.record.leases import read_lease
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


def test_a_heartbeat_begins_the_term_anew(writer: Writer, time: list[float]) -> None:
    held: list[Lease] = [take_lease(writer, ELSEWHERE)]

    def tell(_: Waiting) -> None:
        if time[0] in (20.0, 40.0):
            fresh = renew(writer, held[0])
            assert fresh is not None
            held[0] = fresh

    take_lease(writer, this_process(), tell=tell)
    assert time[0] == pytest.approx(71.0)


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
