"""What the ledger gets when a batch was written as another range than Spark has read."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import msgspec
import pytest

from holdfast import clock
from holdfast.ids import BatchId
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import Unreadable
from holdfast.record.leases import Lease
from holdfast.record.owner import Owner
from holdfast.sinks.sink import SinkWriter
from holdfast.spark.plans import Untold
from holdfast.spark.progress import read_progress
from holdfast.streams.replaced_range import Comparison, Looks, correct_ledgers
from tests.ledger_rows import ROW

LEASE = Lease(epoch=ROW.epoch, owner=Owner(host="h", pid=1), token=ROW.nonce, nonce="n")


class OneRow:
    """A sink with a ledger that holds one row."""

    def __init__(self, end: str, batch: int) -> None:
        self.row = replace(ROW, end_offsets=end, last_batch=BatchId(batch), digest="d")
        self.ledger = self
        self.is_taken = False

    def read(self, stream: str) -> LedgerRow | None:
        return self.row if stream == ROW.stream else None

    def correct(self, old: LedgerRow, new: LedgerRow) -> bool:
        assert old == self.row
        if not self.is_taken:
            self.row = new
        return not self.is_taken


def compare(
    sink: OneRow, *told: str | None, batch: int | None = 4, lease: Lease = LEASE, first: int = 4
) -> Comparison:
    return correct_ledgers(
        (cast("SinkWriter", sink),),
        Untold(last_batch=batch, end_offsets=told),
        stream=ROW.stream,
        lease=lease,
        first_batch=first,
    )


@pytest.mark.parametrize(
    ("recorded", "told", "end"),
    [
        ('{"0":15}', ("20",), '{"0":20}'),
        ('{"0":15,"1":3}', ("20", "3"), '{"0":20,"1":3}'),
        ('{"0":15,"1":3}', ("20", "4"), '{"0":20,"1":4}'),
        ('{"0":3,"1":4}', ("4", "3"), '{"0":4,"1":3}'),
        ('{"0":1,"1":3}', ("3", "4"), '{"0":3,"1":4}'),
        ('{"0":15,"2":3}', ("15", None, "4"), '{"0":15,"2":4}'),
        ('{"0":15,"1":15}', ("20",), '{"0":20,"1":20}'),  # joined with itself
        ('{"0":{"t":{"0":15}}}', ('{"t":{"0":20}}',), '{"0":{"t":{"0":20}}}'),
    ],
)
def test_the_range_that_spark_has_read_is_in_the_ledger(
    recorded: str, told: tuple[str, ...], end: str
) -> None:
    sink = OneRow(recorded, 4)
    assert compare(sink, *told) is Comparison.CORRECTED
    assert sink.row.end_offsets == end
    assert sink.row.digest != "d", "the checkpoint would not contradict it"
    assert replace(sink.row, digest="d", end_offsets=recorded) == OneRow(recorded, 4).row
    assert compare(sink, *told) is Comparison.SAME


@pytest.mark.parametrize(
    ("recorded", "told", "found"),
    [
        ('{"0":15,"1":3}', ("15", "3"), Comparison.SAME),
        ('{"0":{"b":1,"a":2}}', ('{"a":2,"b":1}',), Comparison.SAME),
        ('{"a":15,"b":3}', ("3", "15"), Comparison.SAME),
        ('{"a":15,"b":3}', ("20", "3"), Comparison.FAILED),  # which is which?
        ('{"0":15,"1":3}', ("15", None), Comparison.FAILED),
        ('{"0":15}', ("15", "3"), Comparison.FAILED),
        ('{"0":15,"1":15,"2":3}', ("15", "4"), Comparison.FAILED),
        ('{"0":"a"}', ('"b"',), Comparison.FAILED),
        ("not json", ("20",), Comparison.FAILED),
        ("{}", ("20",), Comparison.FAILED),
        ("{}", (None,), Comparison.SAME),
    ],
)
def test_what_is_not_clear_changes_nothing(
    recorded: str, told: tuple[str | None, ...], found: Comparison
) -> None:
    sink = OneRow(recorded, 4)
    assert compare(sink, *told) is found
    assert sink.row == OneRow(recorded, 4).row


@pytest.mark.parametrize(
    ("batch", "first"), [(3, 0), (5, 0), (None, 0), (4, 5)], ids=["before", "after", "none", "run"]
)
def test_only_a_batch_of_this_run_is_compared(batch: int | None, first: int) -> None:
    sink = OneRow('{"0":15}', 4)
    assert compare(sink, "20", batch=batch, first=first) is Comparison.NOT_OURS
    assert sink.row == OneRow('{"0":15}', 4).row


@pytest.mark.parametrize("other", [{"epoch": ROW.epoch + 1}, {"token": "of another start"}])
def test_what_a_later_driver_has_written_stays(other: dict[str, object]) -> None:
    """A worker that was paused past its lease knows its own range, and the row is of the next."""
    sink = OneRow('{"0":20}', 4)
    lease = msgspec.structs.replace(LEASE, **other)
    assert compare(sink, "15", lease=lease) is Comparison.NOT_OURS
    assert sink.row == OneRow('{"0":20}', 4).row


def test_a_row_that_changes_meanwhile_is_compared_again() -> None:
    sink = OneRow('{"0":15}', 4)
    sink.is_taken = True
    assert compare(sink, "20") is Comparison.FAILED


def test_a_ledger_that_cannot_be_read_is_asked_again() -> None:
    sink = OneRow('{"0":15}', 4)
    sink.read = lambda _: Unreadable("away")  # type: ignore[method-assign,assignment,return-value]
    assert compare(sink, "20") is Comparison.FAILED


RUN = '"durationMs": {"addBatch": 5}'
IDLE = '"durationMs": {"latestOffset": 5}'


@pytest.mark.parametrize(
    ("progress", "last", "ends"),
    [
        (f'"batchId": 3, {RUN}', 3, ('{"logOffset":2}', None)),
        (f'"batchId": 4, {IDLE}', 3, ('{"logOffset":2}', None)),  # of the next batch
        (f'"batchId": 0, {IDLE}', None, ('{"logOffset":2}', None)),
        ('"batchId": 4, "durationMs": null', 3, ('{"logOffset":2}', None)),
    ],
)
def test_progress_tells_the_last_batch_that_was_run(
    progress: str, last: int | None, ends: tuple[str | None, ...]
) -> None:
    text = (
        f'{{{progress}, "sources": [{{"endOffset": {{"logOffset": 2}}}}, {{"endOffset": null}}]}}'
    )
    assert read_progress(text) == Untold(last_batch=last, end_offsets=ends)


def test_looks_become_seldom_and_begin_anew_with_each_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [100.0]
    monkeypatch.setattr(clock, "monotonic", lambda: now[0])
    looks, asked = Looks(), []
    for _ in range(400):  # every half second
        now[0] += 0.5
        if looks.is_due(7):
            asked.append(now[0])
            looks.note(7, is_done=False)
    assert len(asked) < 20
    assert looks.is_due(8)
    looks.note(8, is_done=True)
    assert not looks.is_due(8)
