"""Everything known of one stream or of one bare checkpoint: what every rule judges.

A case is a value. It can be pickled, and judging it reads nothing more. What was not looked at is
empty or None in it, and `not_looked_at` says why: a rule that needs it finds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.outputs.output import NotRead, Output
from holdfast.sources.probe import NotProbed, SourceProbe

if TYPE_CHECKING:  # what a case has not looked at need not be imported
    from holdfast.evidence.declarative import FlowPlace
    from holdfast.evidence.guard_record import GuardRecord
    from holdfast.evidence.outcomes import NextStart
    from holdfast.evidence.overview import Overview
    from holdfast.evidence.query_to_start import QueryToStart
    from holdfast.evidence.spark_error import ErrorReport
    from holdfast.evidence.stream import StreamEvidence
    from holdfast.formats.event_log.history import EventLog
    from holdfast.record.run_history import RunHistory


class Neighbour(msgspec.Struct, frozen=True, kw_only=True):
    """Another checkpoint, as far as it can be mistaken for this one."""

    location: str
    query_id: str
    newest_planned: int
    """-1 without any offset entry."""
    began_ms: int | None = None
    """When it was first written to; None when nothing tells."""
    newest_ms: int | None = None
    """When its newest batch began; None without any."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What is known."""

    checkpoint: Checkpoint
    now: datetime = msgspec.field(default_factory=lambda: datetime.now(tz=UTC))
    """When it was looked at."""
    overview: Overview | None = None
    """What the checkpoint alone tells, and what the next start does. None in a guarded start:
    Spark itself answers there."""
    stream: StreamEvidence | None = None
    """What the record and the ledgers of a guarded stream say; None for a bare checkpoint."""
    record: GuardRecord | None = None
    """The newest run and its contract; None for a bare checkpoint, and in a guarded start."""
    history: RunHistory | None = None
    """Every run of a guarded stream; None when not asked for, and for a bare checkpoint."""
    root: str | None = None
    """Where the record of a guarded stream is; None for a bare checkpoint."""
    record_unread: str | None = None
    """Why the record beside the checkpoint could not be read; None when it was, or is not there."""
    sources: tuple[SourceProbe, ...] = ()
    """What the sources can still give, in the order of the query; empty when not asked for."""
    outputs: tuple[Output, ...] = ()
    """What sinks hold without a ledger of Holdfast; empty when none was named."""
    repaired: frozenset[str] = frozenset()
    """Files without a checksum that are as the journal of a repair has them."""
    times: Mapping[str, datetime] = msgspec.field(default_factory=dict)
    """When files of the checkpoint were last written, by the store's clock; by their paths."""
    neighbours: tuple[Neighbour, ...] = ()
    """Other checkpoints that were looked at, to compare; empty when not asked for."""
    error: ErrorReport | None = None
    """What a log or a stack trace of the last run tells; None when none was given."""
    event_log: EventLog | None = None
    """What Spark's event log tells of the query; None when none was named."""
    flow: FlowPlace | None = None
    """Its flow, where it is a checkpoint of Spark Declarative Pipelines."""
    query: QueryToStart | None = None
    """The query that is to be started, in a guarded start and in `holdfast check`; else None."""

    @property
    def next_start(self) -> NextStart | None:
        """What the next start does; None in a guarded start."""
        return None if self.overview is None else self.overview.next_start

    @property
    def newest_planned(self) -> int:
        """The newest batch with an offset entry; -1 without any."""
        return max(self.checkpoint.offsets, default=-1)

    @property
    def newest_committed(self) -> int:
        """The newest batch with a commit entry; -1 without any."""
        return max(self.checkpoint.commits, default=-1)

    @property
    def stream_name(self) -> str:
        """The name of a guarded stream; empty for a bare checkpoint."""
        known = self.stream or self.record
        return "" if known is None else known.stream

    @property
    def is_recognised(self) -> bool:
        """Whether the record says that every sink has a ledger, which recognises its batches."""
        return self.record is not None and self.record.recognises_batches(self.checkpoint)

    @property
    def is_stateful(self) -> bool:
        """Whether the query keeps state, as far as checkpoint and contracts tell."""
        query, record = self.query, self.record
        contracts = () if query is None else (query.before, query.now)
        known = (*contracts, None if record is None else record.contract)
        return bool(self.checkpoint.state) or any(each and each.operators for each in known)

    @property
    def not_looked_at(self) -> tuple[str, ...]:
        """What is there and was not looked at, each with the reason; empty when all was."""
        known = (each.not_looked_at for each in (self.overview, self.stream) if each is not None)
        left_out = dict.fromkeys(note for notes in known for note in notes)
        sources = (
            f"source {each.source}, {each.display_name}: {each.found.why}"
            for each in self.sources
            if isinstance(each.found, NotProbed)
        )
        topics = (
            f"{what}, for source {each.source}: {why}"
            for each in self.sources
            for what, why in each.found.not_looked_at
        )
        outputs = (
            f"{each.display_name}: {each.why}" for each in self.outputs if isinstance(each, NotRead)
        )
        record = () if self.record_unread is None else (f"the record: {self.record_unread}",)
        unread = getattr(self.event_log, "why", None)
        log = () if unread is None else (f"the event log: {unread}",)
        return (*left_out, *record, *sources, *topics, *outputs, *log)
