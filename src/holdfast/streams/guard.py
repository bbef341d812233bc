"""What stands between a lease and a running query: evidence and rules (G3, G4), the fence (G5)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.query import Query, judge_query
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.evidence.versions import SparkVersion
from holdfast.ids import QueryId
from holdfast.ledger.coverage import read_coverage
from holdfast.ledger.row import Binding
from holdfast.points import reached
from holdfast.record.contracts import Contract, contract_before, keep_contract, tell_changes
from holdfast.record.generations import ADOPTED
from holdfast.record.leases import Lease
from holdfast.rules import judge
from holdfast.sinks.sink import LedgerSink, Sink, ledgers_of
from holdfast.streams.accepting import Accepted, accept_findings, row_for
from holdfast.streams.orphan import move_orphans_aside
from holdfast.streams.place import Place
from holdfast.streams.refusal import FenceNotTakenError

_LOG = logging.getLogger("holdfast")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One start of a stream, from its lease to its fence."""

    place: Place
    sinks: tuple[Sink, ...]
    lease: Lease
    contract: Contract
    spark: SparkVersion

    @property
    def ledgers(self) -> tuple[LedgerSink, ...]:
        """The sinks that take a batch exactly once."""
        return ledgers_of(self.sinks)

    def judge(self, given: dict[str, str]) -> tuple[StreamEvidence, Accepted]:
        """Collect what is there and hold it against the rules (G3) and the contract (G4).

        Raises:
            StartRefusedError: Starting would lose or double data, and nobody has accepted that.
        """
        evidence = self._collect()
        if move_orphans_aside(evidence.checkpoint, self.place.checkpoint, self.place.record):
            evidence = self._collect()
        findings = judge(evidence)
        reached("G3")
        accepted = accept_findings(
            self.place.record, evidence, findings, given=given, epoch=self.lease.epoch
        )
        self.place.write_down()
        self._keep_contract()
        reached("G4")
        return evidence, accepted

    def fence(self, evidence: StreamEvidence, accepted: Accepted) -> None:
        """Let only this driver write to the sinks from now on (G5).

        Raises:
            FenceNotTakenError: A later driver has fenced one of them.
            StartRefusedError: What was judged before the fence is not so any more.
        """
        for sink, known in zip(self.ledgers, evidence.sinks, strict=True):
            if not self._take(sink, known, evidence, accepted=accepted):
                raise FenceNotTakenError(self.place.stream, sink.shown)
        # What was read before the fence is older than it: judged again.
        found = self._collect()
        findings = tuple(each for each in judge(found) if each.code not in accepted.codes())
        accept_findings(self.place.record, found, findings, given={}, epoch=self.lease.epoch)
        reached("G5")

    def _take(
        self, sink: LedgerSink, known: SinkEvidence, evidence: StreamEvidence, *, accepted: Accepted
    ) -> bool:
        if known.row is not None and not accepted.codes(sink.name):
            fenced = sink.fence(known.row, epoch=self.lease.epoch, nonce=self.lease.token)
            return fenced is not None
        if known.row is None and evidence.is_adopting:
            # What the query of before has slipped in until now counts; more does not get in.
            sink.fence_native(evidence.binding.query_id)
            known = replace(known, native_batch=sink.find_native(evidence.binding.query_id))
        row = row_for(evidence, known, self.place.checkpoint, accepted=accepted)
        mine = replace(row, epoch=self.lease.epoch, nonce=self.lease.token)
        return sink.replace_row(known.row, mine)

    def _collect(self) -> StreamEvidence:
        checkpoint = self.place.read_checkpoint()
        metadata = checkpoint.metadata
        query_id = metadata.query_id if isinstance(metadata, QueryMetadata) else QueryId("")
        query = Query(sources=len(self.contract.sources), operators=self.contract.operators)
        refused = None
        if checkpoint.offsets:
            refused = judge_query(checkpoint, query, spark=self.spark)
        return StreamEvidence(
            stream=self.place.stream,
            generation=self.place.generation,
            checkpoint=checkpoint,
            binding=Binding(query_id=query_id, checkpoint=self.place.generation.checkpoint),
            sinks=tuple(self._look(sink, checkpoint, query_id) for sink in self.ledgers),
            query_refused=refused,
        )

    def _look(self, sink: LedgerSink, checkpoint: Checkpoint, query_id: QueryId) -> SinkEvidence:
        row = sink.read_row(self.place.stream)
        held = contradicts = native = None
        if row is None and self.place.generation.why == ADOPTED:
            native = sink.find_native(query_id)
        elif row is not None:
            contradicts = sink.examine(row)
            if row.last_batch in checkpoint.offsets:
                held = read_coverage(self.place.checkpoint, row.last_batch)
        return SinkEvidence(
            sink=sink.name,
            shown=sink.shown,
            row=row,
            held=held,
            contradicts=contradicts,
            native_batch=native,
            is_added=row is None and self._is_added(sink),
        )

    def _is_added(self, sink: LedgerSink) -> bool:
        """Return whether the last run had other sinks of these, and not this one."""
        before = self._contract_before()
        kept = set(before.sinks) & set(self.contract.sinks) if before else set()
        return before is not None and bool(kept) and sink.name not in before.sinks

    def _contract_before(self) -> Contract | None:
        return contract_before(self.place.record, epoch=self.lease.epoch)

    def _keep_contract(self) -> None:
        """Write the contract down, and say what has changed since the last run."""
        before = self._contract_before()
        for change in tell_changes(before, self.contract) if before else ():
            _LOG.warning("holdfast: %s: %s", self.place.stream, change)
        keep_contract(self.place.record, self.contract)
