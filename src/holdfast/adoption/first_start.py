"""What the first guarded start finds, by the evidence and the rules that it judges with itself."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from holdfast.adoption.into_sink import IntoSink
from holdfast.adoption.model import Unclear
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.errors import HoldfastError
from holdfast.evidence.case import Case
from holdfast.evidence.checkpoint_evidence import Evidence
from holdfast.evidence.collect import LedgerLook, StreamPlaces, collect_ledgers
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.judgement.judge import judge
from holdfast.record.contracts import SinkContract
from holdfast.record.generations import ADOPTED, Generation
from holdfast.rules.catalogue import own_catalogue
from holdfast.rules.rule import Finding
from holdfast.sinks.kinds import open_recorded
from holdfast.storage.read import Reader


class FirstStart(msgspec.Struct, frozen=True, kw_only=True):
    """What it finds."""

    evidence: StreamEvidence
    findings: tuple[Finding, ...]
    unclear: tuple[Unclear, ...] = ()
    """What could not be looked at."""
    is_unseen: bool = False
    """Whether its answer depends on that."""

    @property
    def sink(self) -> SinkEvidence | None:
        """What its sink holds; None for a function."""
        return next(iter(self.evidence.sinks), None)

    @property
    def refusing(self) -> tuple[Finding, ...]:
        """What it refuses to start for."""
        return tuple(each for each in self.findings if each.refuses_start)


class StartLook(msgspec.Struct, frozen=True, kw_only=True):
    """What the first guarded start of a stream looks at."""

    case: Case
    """What is known of the plain stream; its checkpoint has a query id."""
    checkpoint: Reader
    into: IntoSink
    """Where it would write; of a Delta table the place is its location."""
    stream: str
    options: Mapping[str, str]
    """Of the store."""


def find_first_start(look: StartLook) -> FirstStart:
    """Return what the first guarded start finds."""
    case, into = look.case, look.into
    places = StreamPlaces(
        stream=look.stream,
        generation=adopted_generation(case),
        checkpoint=look.checkpoint,
        ledgers=(),
        query=None,
        spark=case.overview.spark if case.overview else (0, 0),
    )
    stores = () if case.overview is None else case.overview.stores
    found = Evidence(checkpoint=case.checkpoint, stores=stores)
    plain = collect_ledgers(places, found)
    if into.kind == "foreach-batch":
        return _judged(case, plain)
    seen = _see(places, found, look)
    if isinstance(seen, StreamEvidence):
        return _judged(case, seen)
    is_delta = into.kind == "delta"
    shown = f"the {'Delta' if is_delta else 'PostgreSQL'} table {into.place}"
    how = "Set its DSN in the environment, and name both: --sink env:NAME#TABLE."
    unclear = Unclear(
        what=f"what {shown} holds: {seen.rstrip('.')}",
        how="Name the table's location: --sink LOCATION." if is_delta else how,
    )
    # A table of PostgreSQL tells nothing of a plain stream: what a start asks is the same.
    held = SinkEvidence(sink=_contract_of(into).label, display_name=shown, row=None, held=None)
    known = plain if is_delta else replace(plain, sinks=(held,))
    return replace(_judged(case, known), unclear=(unclear,), is_unseen=is_delta)


def _see(places: StreamPlaces, found: Evidence, look: StartLook) -> StreamEvidence | str:
    """Return the evidence with what the ledger of the sink says, or why that cannot be read."""
    try:
        sink, store = open_recorded(_contract_of(look.into), options=look.options)
    except HoldfastError as error:
        return error.why
    ledger = LedgerLook(
        sink=sink.label, display_name=sink.display_name, store=store, is_added=lambda: False
    )
    try:
        evidence = collect_ledgers(replace(places, ledgers=(ledger,)), found)
    finally:
        store.close()
    unreadable = evidence.sinks[0].unreadable
    return evidence if unreadable is None else unreadable.why


def adopted_generation(case: Case) -> Generation:
    """Return the generation that an adoption opens, as `hf.start` does."""
    metadata = case.checkpoint.metadata
    assert isinstance(metadata, QueryMetadata)
    return Generation(
        number=1,
        checkpoint=str(case.checkpoint.location),
        query_id=metadata.query_id,
        first_batch=case.newest_committed + 1,
        why=ADOPTED,
        opened_at=case.now.isoformat(timespec="seconds"),
    )


def _judged(case: Case, evidence: StreamEvidence) -> FirstStart:
    asked = replace(case, stream=evidence, outputs=(), error=None, event_log=None)
    return FirstStart(evidence=evidence, findings=judge(asked, own_catalogue(asked)).findings)


def _contract_of(into: IntoSink) -> SinkContract:
    place = into.place or ""
    if into.kind == "postgres":
        secret = into.dsn or ""
        where = f"postgresql:{place}@{secret}"
        return SinkContract(kind="postgres", place=where, label=place, secret=secret)
    return SinkContract(kind="delta", place=place, label=place.rstrip("/").rpartition("/")[2])
