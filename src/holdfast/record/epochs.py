"""Which epochs have a lease, found from the one that the sinks hold and not by listing them all.

Names are zero-padded, so a listing that begins after one is exact up to six digits. Epochs are
given out one by one, and a start that reaches a sink leaves its epoch there: the leases from that
epoch on are a few, however many came before.

All leases are listed, one request for every 1,000, where that does not help: no sink has a ledger,
no ledger has a row yet, the record is older than the sinks, or epochs are near or above 1,000,000.
"""

from __future__ import annotations

import re

from holdfast.errors import UnsafePathError
from holdfast.record.bounds import MAX_EPOCH
from holdfast.record.documents import STOPPED, RecordError, find_names
from holdfast.record.layout import LEASES, SIX_DIGITS, lease_path
from holdfast.record.repair import move_aside
from holdfast.storage.location import Location
from holdfast.storage.read import Reader

MAX_MISSING = 1_000
"""How many epochs between the sinks' and the newest may have no file: old leases may be deleted."""
_NAME = re.compile(r"([0-9]{6,})\.json")


class EpochJumpError(RecordError):
    """The newest epoch is one that no start can have been given."""

    code = "EPOCH_JUMP"

    def __init__(self, location: Location, *, why: str, is_in_sink: bool = False) -> None:
        moving = f"Move the lease aside and start again. {STOPPED} Then run:"
        super().__init__(
            location,
            what=f"No lease was taken: epoch {location.name.partition('.')[0]} cannot be real.",
            why=f"{why} A sink keeps its epoch for good, and epochs end at {MAX_EPOCH:,}.",
            how="Restore the sink's ledger row from a backup." if is_in_sink else moving,
            repair="" if is_in_sink else move_aside(location),
        )


def newest_epoch(reader: Reader, *, after: int | None = None) -> int:
    """Return the highest epoch that was ever taken; 0 when none was.

    Args:
        reader: Of the stream's record.
        after: The highest epoch that any sink holds, 0 if none holds one yet; None if no sink has
            a ledger.

    Raises:
        EpochJumpError: It is not one that a start can have been given.
        ReadError, RecordError: The leases cannot be listed.
    """
    epochs = _list_from(reader, after or 0) or _list_all(reader)
    newest = max(epochs, default=0)
    if newest > MAX_EPOCH:
        why = "Its number is larger than any epoch."
        raise EpochJumpError(reader.location.join(lease_path(newest)), why=why)
    _refuse_jump(reader, epochs, after=after)
    return newest


def is_taken(reader: Reader, epoch: int) -> bool:
    """Return whether an epoch has a lease, in one request and whatever the lease says.

    Raises:
        ReadError: The store did not let us look.
    """
    try:
        return reader.stat(lease_path(epoch)) is not None
    except UnsafePathError:
        return True  # a link that leads outside takes the name too


def _list_from(reader: Reader, epoch: int) -> set[int]:
    """Return the epochs from one on; none if that cannot be told without those before."""
    if not 0 < epoch < SIX_DIGITS - MAX_MISSING:
        return set()
    epochs = _epochs(find_names(reader, LEASES, _NAME, after=lease_path(epoch - 1)))
    return epochs if max(epochs, default=0) < SIX_DIGITS - MAX_MISSING else set()


def _list_all(reader: Reader) -> set[int]:
    return _epochs(find_names(reader, LEASES, _NAME))


def _epochs(names: list[re.Match[str]]) -> set[int]:
    """Return the epochs that have a file under the name that Holdfast gives it."""
    return {int(each[1]) for each in names if f"{int(each[1]):06d}" == each[1]}


def _refuse_jump(reader: Reader, epochs: set[int], *, after: int | None) -> None:
    """Refuse a newest epoch that no start can have been given: they are given out one by one.

    Starts that never came as far as a sink leave their leases. So nearly every epoch between what
    the sinks hold and the newest has a file; without any ledger, from the oldest file on.
    """
    newest = max(epochs, default=0)
    since = min(epochs, default=1) - 1 if after is None else after
    after = after or 0
    missing = newest - since - sum(epoch > since for epoch in epochs)
    held = f"The sinks hold epoch {after:,}." if after else "No sink holds an epoch."
    location = reader.location.join(lease_path(max(newest, after)))
    if after >= MAX_EPOCH:
        raise EpochJumpError(location, why=held, is_in_sink=True)
    if missing > MAX_MISSING:
        why = f"{held} Of the epochs from there to {newest:,}, {missing:,} have no lease."
        raise EpochJumpError(location, why=why)
    if newest >= MAX_EPOCH:
        raise EpochJumpError(location, why=held)
