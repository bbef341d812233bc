"""Everything known about one stream before it is started: its record, checkpoint and ledgers."""

from __future__ import annotations

import msgspec

from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.checkpoint_evidence import Evidence, left_out_of
from holdfast.evidence.outcomes import Refuses
from holdfast.evidence.state_content import StoreContent
from holdfast.ledger.coverage import Coverage
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.ledger.store import Unreadable
from holdfast.record.generations import ADOPTED, CLONED, RESET, REWOUND, UNDONE, Generation


class SinkEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """What one sink holds of a stream."""

    sink: str
    display_name: str
    """The sink as people know it: `the PostgreSQL table public.readings`."""
    row: LedgerRow | None
    """None when the ledger has none, or is unreadable."""
    held: Coverage | Unparsed | None
    """What the checkpoint says of the row's last batch; None when it has no such entry."""
    contradicts: str | None = None
    """What in the sink itself shows that it does not hold what its row says."""
    native_batch: int | None = None
    """Of a checkpoint that is adopted, the last batch it brought, where the sink can tell."""

    is_added: bool = False
    """Whether the stream ran without it until now: it begins where the others stand."""
    owners: tuple[str, ...] = ()
    """Without a row of a clone, the streams that have written here: it is their table."""
    forgotten_epoch: int = 0
    """Without a row, the highest epoch that has written here as the sink still knows; 0: none."""
    unreadable: Unreadable | None = None
    """Set when the ledger could not be read: whether it has a row is then unknown."""

    @property
    def last_batch(self) -> int | None:
        """The last batch that it holds, by its row or by what it tells; None when not known."""
        return self.native_batch if self.row is None else self.row.last_batch


class StreamEvidence(Evidence, frozen=True, kw_only=True):
    """What is known of a stream, its checkpoint included."""

    stores: tuple[StoreContent, ...] = ()
    stream: str
    generation: Generation
    binding: Binding
    """Of the checkpoint: the query id in it, and where it is."""
    sinks: tuple[SinkEvidence, ...]
    sources: tuple[str, ...] = ()
    """What the query that is to be started reads, each as Spark names it."""
    sources_before: tuple[str, ...] | None = None
    """What the last run read; None when that is not known."""
    query_refused: Refuses | None = None
    """What Spark will say of the query that is to be started, where that is known."""

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        """What is there and was not looked at, each with the reason; empty when all was."""
        ledgers = (
            f"the ledger of {sink.display_name}: {sink.unreadable.why}"
            for sink in self.sinks
            if sink.unreadable is not None
        )
        return (*left_out_of(self.checkpoint), *ledgers)

    @property
    def is_adopting(self) -> bool:
        """Whether an existing checkpoint is being taken over, and has not run under guard yet."""
        return (
            self.generation.why == ADOPTED and self.newest_committed < self.generation.first_batch
        )

    @property
    def is_seeded(self) -> bool:
        """Whether a plan has opened this generation, and it has not run yet."""
        opened = self.generation
        # One that was undone and then moved does not say how its checkpoint was made.
        is_again = opened.made_as == UNDONE and opened.first_batch > 0
        by_plan = opened.made_as in (RESET, REWOUND, CLONED) or is_again
        return by_plan and self.newest_committed < opened.first_batch

    @property
    def newest_planned(self) -> int:
        """The newest batch with an offset entry; -1 without any."""
        return max(self.checkpoint.offsets, default=-1)

    @property
    def newest_committed(self) -> int:
        """The newest batch with a commit entry; -1 without any."""
        return max(self.checkpoint.commits, default=-1)
