"""Everything known about one stream before it is started: its record, checkpoint and ledgers."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ledger.coverage import Coverage
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.record.generations import Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkEvidence:
    """What one sink holds of a stream."""

    sink: str
    shown: str
    """The sink as people know it: `the PostgreSQL table public.readings`."""
    row: LedgerRow | None
    held: Coverage | Unparsed | None
    """What the checkpoint says of the row's last batch; None when it has no such entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEvidence:
    """What is known of a stream."""

    stream: str
    generation: Generation
    checkpoint: Checkpoint
    binding: Binding
    """Of the checkpoint: the query id in it, and where it is."""
    sinks: tuple[SinkEvidence, ...]

    @property
    def newest_planned(self) -> int:
        """The newest batch with an offset entry; -1 without any."""
        return max(self.checkpoint.offsets, default=-1)

    @property
    def newest_committed(self) -> int:
        """The newest batch with a commit entry; -1 without any."""
        return max(self.checkpoint.commits, default=-1)
