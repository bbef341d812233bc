"""A batch that was written as another range than Spark has read: found, and told to the ledger.

Where a function is not told what its batch covers, the range is read from `offsets/N`, which
another driver can have replaced before. Spark says what it has read once the batch has ended. Then
the ledger gets that range, so that the checkpoint contradicts it: every start is refused (HF605)
until the checkpoint is put right. Only the driver that has written a row corrects it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import IntEnum
from hashlib import sha256

from holdfast import clock
from holdfast.checkpoint.text import canonical, parse_json
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.batches import BatchCompared
from holdfast.events.event import Warned
from holdfast.ledger.coverage import same_offsets
from holdfast.ledger.store import LedgerStore, Unreadable
from holdfast.record.leases import Lease
from holdfast.sinks.sink import SinkWriter
from holdfast.spark.plans import Untold

_QUICK_TRIES, _MOST_DOUBLINGS, _PAUSE_SECONDS = 4, 6, 0.5
"""Spark says what it has read within a second; where it never does, it is asked twice a minute."""


class RangeReplacedError(HoldfastError):
    """The batch before was written as another range than Spark has read."""

    code = "RANGE_REPLACED"

    def __init__(self, stream: str, batch_id: int) -> None:
        self.batch_id = batch_id
        super().__init__(
            what=f"Batch {batch_id + 1} of {stream} was refused; nothing of it was written.",
            why=f"offsets/{batch_id} is not what this query has planned: another driver wrote it. "
            "The ledger has the range that Spark has read.",
            how="Stop every other driver of this stream, and prove the table with hf.prove from a "
            "classic session. The next start is refused with HF605, which says how to put the "
            "checkpoint right.",
        )


class Comparison(IntEnum):
    """What became of comparing the ledgers with what Spark has read; of several, the highest."""

    NOT_OURS = 0
    """No ledger has that batch as one that this driver wrote in this run."""
    SAME = 1
    CORRECTED = 2
    FAILED = 3
    """A ledger was not read or written, or it is not clear which source is which."""


def correct_ledgers(
    sinks: Sequence[SinkWriter], told: Untold, *, stream: str, lease: Lease, first_batch: int
) -> Comparison:
    """Put what Spark has read into each ledger where this driver has written something else.

    Args:
        sinks: Of the stream.
        told: What the query tells of the last batch that it has finished.
        stream: Its name.
        lease: Of the driver that runs the query. What a later one has written is its own.
        first_batch: Of this run. What was planned before it, Spark itself knows from the files.

    Raises:
        HoldfastError: A ledger cannot be written.
    """
    found = Comparison.NOT_OURS
    for ledger in (sink.ledger for sink in sinks if sink.ledger is not None):
        found = max(found, _correct(ledger, told, stream=stream, lease=lease, first=first_batch))
    return found


def _correct(
    ledger: LedgerStore, told: Untold, *, stream: str, lease: Lease, first: int
) -> Comparison:
    row = ledger.read(stream)
    if isinstance(row, Unreadable):
        return Comparison.FAILED
    is_own = row is not None and (row.epoch, row.nonce) == (lease.epoch, lease.token)
    if row is None or not is_own or row.last_batch != told.last_batch or row.last_batch < first:
        return Comparison.NOT_OURS
    end = _end_offsets(row.end_offsets, told)
    is_unclear = end is None and not same_offsets(told.known_ends, row.end_offsets)
    if is_unclear:
        return Comparison.FAILED
    if end is None or end == row.end_offsets:
        emit(BatchCompared(stream, row.last_batch))
        return Comparison.SAME
    # A digest that no entry has: the checkpoint contradicts the row until it is put right.
    digest = sha256(f"{row.digest} {end}".encode()).hexdigest()
    if not ledger.correct(row, replace(row, end_offsets=end, digest=digest)):
        return Comparison.FAILED
    emit(Warned(RangeReplacedError(stream, row.last_batch).why))
    emit(BatchCompared(stream, row.last_batch))
    return Comparison.CORRECTED


def _end_offsets(recorded: str, told: Untold) -> str | None:
    """Return what Spark has read, as a ledger has it; None when it is not clear what is which.

    Sources stand in the order of the lines of an entry. A stream that is joined with itself is one
    source with several lines.
    """
    known = parse_json(recorded)
    if not isinstance(known, dict) or not all(each.isdecimal() for each in known):
        return None
    ends = [None if each is None else parse_json(each) for each in told.end_offsets]
    if len(ends) == 1 and known:
        found = dict.fromkeys(known, ends[0])
    else:
        found = {str(at): end for at, end in enumerate(ends) if end is not None}
    values = (*known.values(), *found.values())
    if found.keys() != known.keys() or any(isinstance(each, str | None) for each in values):
        return None  # a text in Spark's progress can be a text, or what it does not understand
    same = canonical(found) == canonical(known)
    return recorded if same else canonical(found)


class Looks:
    """When a batch is compared with what Spark has read: soon, then ever more seldom."""

    def __init__(self) -> None:
        self._batch: int | None = None
        self._is_done = False
        self._due = 0.0
        self.tries = 0

    def is_due(self, batch: int) -> bool:
        """Return whether a batch is to be compared now."""
        if batch != self._batch:
            self._batch, self._is_done, self._due, self.tries = batch, False, 0.0, 0
        return not self._is_done and clock.monotonic() >= self._due

    def note(self, batch: int, *, is_done: bool) -> None:
        """Say how that went."""
        if batch == self._batch:
            self.tries += 1
            self._is_done = is_done
            pause = _PAUSE_SECONDS * 2 ** min(self.tries, _MOST_DOUBLINGS)
            self._due = clock.monotonic() + (pause if self.tries > _QUICK_TRIES else 0)
