"""What a heartbeat asks the store for, whatever the record holds."""

from __future__ import annotations

import threading

import msgspec

from holdfast.record.leases import take_lease
from holdfast.record.owner import this_process
from holdfast.streams.heartbeat import THREAD, Keeper
from tests.unit.record.counted import RUN, record_of

HEARTBEATS = 5


class StubQuery:
    """A query that runs for some heartbeats, without taking time."""

    def __init__(self) -> None:
        self.left = HEARTBEATS
        self.isActive = False

    def awaitTermination(self, _seconds: float) -> bool:  # noqa: N802 - Spark's own word
        self.left -= 1
        return self.left < 0

    def exception(self) -> None:
        return None


def test_a_heartbeat_is_two_requests_and_lists_nothing() -> None:
    record = record_of(3_000)
    lease = take_lease(record, this_process(), after=3_000)
    record.requests.clear()
    keeper = Keeper(record, lease, ())
    keeper.last_batch = 7
    run = msgspec.structs.replace(RUN, epoch=lease.epoch)
    keeper.keep(StubQuery(), run)
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(60)
    runs, release = 2, 1
    assert record.requests == {"head": HEARTBEATS, "put": HEARTBEATS + runs + release}
    ended = msgspec.json.decode(record.files[run.path], type=type(run))
    assert (ended.ended, ended.last_batch) == ("finished", 7)
