"""What stands between a lease and a running query: evidence and rules (G3, G4), the fence (G5)."""

from __future__ import annotations

import dataclasses
from typing import Protocol

import msgspec
from msgspec.structs import replace

from holdfast.events import emit
from holdfast.events.starts import Fenced, GenerationReady, Judged, QueryChanged
from holdfast.evidence.case import Case
from holdfast.evidence.collect import LedgerLook, StreamPlaces, collect_again, collect_stream
from holdfast.evidence.query import Query
from holdfast.evidence.query_to_start import QueryToStart
from holdfast.evidence.state_columns import PlannedState
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.judgement.judge import judge
from holdfast.ledger.store import LedgerStore
from holdfast.record.contracts import Contract, keep_contract, tell_changes
from holdfast.record.input_files import merge_input_files
from holdfast.record.leases import Lease
from holdfast.record.repairs import unfinished_repair
from holdfast.rules import own_catalogue
from holdfast.sinks.sink import SinkWriter
from holdfast.sources.probe import SourceProbe
from holdfast.spark_versions import SparkVersion
from holdfast.storage.remembered import SeenFiles
from holdfast.streams.accepting import (
    Accepted,
    Given,
    accept_findings,
    refuse_findings,
    row_for,
    say_findings,
)
from holdfast.streams.native_outputs import find_in_outputs
from holdfast.streams.orphan import move_drafts_aside, move_orphans_aside
from holdfast.streams.place import Place
from holdfast.streams.refusal import (
    FenceNotTakenError,
    StartRefusedError,
    UnfinishedRepairStartError,
)


class Probes(Protocol):
    """How the sources of one start are asked."""

    def ask(self, evidence: StreamEvidence) -> tuple[SourceProbe, ...]:
        """Return what each source can still give; those that cannot be asked are left out."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What a start knows once it may go on."""

    evidence: StreamEvidence
    accepted: Accepted
    sources: tuple[SourceProbe, ...]


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """One start of a stream, from its lease to its fence: check, open, fence."""

    place: Place
    sinks: tuple[SinkWriter, ...]
    lease: Lease
    contract: Contract
    before: Contract | None
    """That of the last run; None when there was none, or it is unknown."""
    spark: SparkVersion
    probes: Probes
    state: tuple[PlannedState | None, ...] = ()
    """Of each stateful operator, the columns that it would bind."""
    seen: SeenFiles = msgspec.field(default_factory=SeenFiles)
    """What the first look has read of the logs: the look after the fence asks what changed."""

    @property
    def ledgers(self) -> tuple[tuple[SinkWriter, LedgerStore], ...]:
        """The sinks that take a batch exactly once, each with its ledger."""
        return tuple((sink, sink.ledger) for sink in self.sinks if sink.ledger is not None)

    @property
    def query(self) -> Query | None:
        """What is known of the query that is to be started; None when nothing is."""
        return Query(sources=len(self.contract.sources), operators=self.contract.operators)

    def _case(self, evidence: StreamEvidence, sources: tuple[SourceProbe, ...]) -> Case:
        """Return what the rules judge."""
        query = QueryToStart(
            now=self.contract, before=self.before, state=self.state, spark=self.spark
        )
        return Case(
            checkpoint=evidence.checkpoint,
            stream=evidence,
            root=self.place.plan_root,
            sources=sources,
            query=query,
        )

    def check(self, given: Given) -> Checked:
        """Collect what is there, ask the sources, and judge it by the rules (G3).

        Nothing is created.

        Raises:
            StartRefusedError: Starting would lose or duplicate data, and that is not accepted.
        """
        refuse_unfinished_repair(self.place)
        evidence = _readable(collect_stream(self._places))
        sources = self.probes.ask(evidence)
        case = self._case(evidence, sources)
        of_outputs = find_in_outputs(self.place, self.sinks, case)
        findings = (*judge(case, own_catalogue(case)).findings, *of_outputs)
        say_findings(evidence.stream, findings)
        at = (evidence.stream, evidence.generation.number, self.lease.epoch)
        codes = ", ".join(dict.fromkeys(each.code for each in findings))
        emit(Judged(*at, findings=codes or "none"))
        accepted = accept_findings(
            self.place.record, evidence, findings, given=given, epoch=self.lease.epoch
        )
        return Checked(evidence=evidence, accepted=accepted, sources=sources)

    def open(self, evidence: StreamEvidence) -> StreamEvidence:
        """Create what is missing (G4): generation, contract, tables; return what is there then."""
        merge_input_files(self.place.record, generation=self.place.generation.number)
        moved = move_orphans_aside(evidence.checkpoint, self.place.checkpoint, self.place.record)
        self.place.write_down()
        self._keep_contract()
        for sink in self.sinks:
            sink.create()
        emit(GenerationReady(stream=self.place.stream, generation=self.place.generation.number))
        return collect_stream(self._places) if moved else evidence

    def fence(self, evidence: StreamEvidence, accepted: Accepted) -> None:
        """Let only this driver write to the sinks from now on (G5).

        Raises:
            FenceNotTakenError: A later driver has fenced one of them.
            StartRefusedError: What was judged before the fence is not so any more.
        """
        for (sink, ledger), known in zip(self.ledgers, evidence.sinks, strict=True):
            if not self._take(ledger, known, evidence, accepted=accepted):
                raise FenceNotTakenError(self.place.stream, sink.display_name)
        move_drafts_aside(evidence.checkpoint, self.place.checkpoint, self.place.record)
        # What was read before the fence is older than it: judged again.
        found = _readable(collect_again(self._places, evidence))
        case = self._case(found, ())
        again = judge(case, own_catalogue(case)).findings
        findings = tuple(each for each in again if not accepted.covers(each))
        try:
            refuse_findings(self.place.record, found, findings)
        except StartRefusedError as error:
            so_far = "its sinks are fenced, and no batch was written"
            told = (error.stream, error.findings, error.nonces)
            raise StartRefusedError(*told, root=error.root, so_far=so_far) from None
        emit(Fenced(stream=self.place.stream, epoch=self.lease.epoch))

    def _take(
        self,
        ledger: LedgerStore,
        known: SinkEvidence,
        evidence: StreamEvidence,
        *,
        accepted: Accepted,
    ) -> bool:
        if known.row is not None and accepted.last_batch(known.sink) is None:
            fenced = ledger.fence(known.row, epoch=self.lease.epoch, nonce=self.lease.token)
            return fenced is not None
        if known.row is None and evidence.is_adopting:
            # What the query of before has slipped in until now counts; more does not get in.
            ledger.fence_native(evidence.binding.query_id)
            known = replace(known, native_batch=ledger.find_native(evidence.binding.query_id))
        row = row_for(evidence, known, self.place.checkpoint, accepted=accepted)
        mine = dataclasses.replace(row, epoch=self.lease.epoch, nonce=self.lease.token)
        return ledger.replace(known.row, mine)

    @property
    def _places(self) -> StreamPlaces:
        return StreamPlaces(
            stream=self.place.stream,
            generation=self.place.generation,
            checkpoint=self.place.checkpoint,
            ledgers=tuple(self._look(*each) for each in self.ledgers),
            query=self.query,
            spark=self.spark,
            sources=self.contract.sources,
            sources_before=None if self.before is None else self.before.sources or None,
            seen=self.seen,
        )

    def _look(self, sink: SinkWriter, ledger: LedgerStore) -> LedgerLook:
        return LedgerLook(
            sink=sink.name,
            display_name=sink.display_name,
            store=ledger,
            is_added=lambda: self._is_added(sink),
        )

    def _is_added(self, sink: SinkWriter) -> bool:
        """Return whether the last run had other sinks of these, and not this one."""
        before = self.before
        kept = set(before.sinks) & set(self.contract.sinks) if before else set()
        if before is None or not kept or sink.name in before.sinks:
            return False
        # A sink is its place: under another label it is not a new one.
        return sink.recorded_place not in {each.place for each in before.sink_places}

    def _keep_contract(self) -> None:
        """Write the contract down, and say what has changed since the last run."""
        for change in tell_changes(self.before, self.contract) if self.before else ():
            emit(QueryChanged(stream=self.place.stream, change=change))
        if self.before != self.contract:  # else it was read from its file just now
            keep_contract(self.place.record, self.contract)


def refuse_unfinished_repair(place: Place) -> None:
    """Refuse a start while a plan is half applied; with the lease in hand (G3).

    Raises:
        UnfinishedRepairStartError: One is.
        ReadError, RecordError: The record cannot be read.
    """
    found = unfinished_repair(place.record)
    if found is not None:
        raise UnfinishedRepairStartError(place.stream, goal=found.goal, journal=found.journal)


def _readable(evidence: StreamEvidence) -> StreamEvidence:
    """Return the evidence; what a ledger has raised is raised, because it says more than a rule.

    Raises:
        HoldfastError: A ledger could not be read.
    """
    for sink in evidence.sinks:
        if sink.unreadable is not None and sink.unreadable.error is not None:
            raise sink.unreadable.error
    return evidence
