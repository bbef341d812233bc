"""How often a stream was restarted, and how each run ended: from its record, newest first."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import msgspec

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.storage.read import moment

_LONG_PAUSES = 3


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """Time in which a query planned nothing."""

    before: int
    """The batch that ended it."""
    lasted: timedelta
    until: datetime


def find_pauses(checkpoint: Checkpoint) -> tuple[Pause, ...]:
    """Return the longest times between two batches, longest first, by the driver's own clock.

    A pause is a stop, or a source without data: a checkpoint alone does not tell which.
    """
    times = [
        (batch, moment(entry.metadata.batch_timestamp_ms / 1000))
        for batch, entry in checkpoint.offsets.items()
        if isinstance(entry, OffsetEntry) and entry.metadata is not None
    ]
    pauses = (
        Pause(before=batch, lasted=until - since, until=until)
        for (_, since), (batch, until) in pairwise(times)
    )
    return tuple(sorted(pauses, key=lambda each: each.lasted, reverse=True)[:_LONG_PAUSES])
