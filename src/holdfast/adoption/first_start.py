"""What the first guarded start finds, by the evidence and the rules that it judges with itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from holdfast.adoption.into_sink import IntoSink
from holdfast.adoption.model import Unclear
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.errors import HoldfastError
from holdfast.evidence.case import Case
from holdfast.evidence.checkpoint_evidence import Evidence
from holdfast.evidence.collect import LedgerLook, StreamPlaces, collect_ledgers
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.judgement.judge import judge
from holdfast.ledger.store import LedgerStore
from holdfast.record.contracts import SinkContract
from holdfast.record.generations import ADOPTED, Generation
from holdfast.rules.catalogue import own_catalogue
from holdfast.rules.rule import Finding
from holdfast.sinks.kinds import open_recorded
from holdfast.storage.read import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstStart:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class StartLook:
    """What the first guarded start of a stream looks at."""

    case: Case
    """What is known of the plain stream; its checkpoint has a query id."""
    checkpoint: Reader
    into: IntoSink
    """Where it would write; of a Delta table the place is its location."""
    stream: str
    root: str
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
    if into.kind == "foreach-batch":
        return _judged(case, collect_ledgers(places, found), root=look.root)
    ledger, unclear = _open(into, look.options)
    if isinstance(ledger, SinkEvidence):
        evidence = replace(collect_ledgers(places, found), sinks=(ledger,))
        is_unseen = into.kind != "postgres"
        judged = _judged(case, evidence, root=look.root)
        return replace(judged, unclear=(unclear,) if unclear else (), is_unseen=is_unseen)
    try:
        evidence = collect_ledgers(replace(places, ledgers=(ledger,)), found)
    finally:
        if isinstance(ledger.store, LedgerStore):
            ledger.store.close()
    return _judged(case, evidence, root=look.root)


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


def _judged(case: Case, evidence: StreamEvidence, *, root: str) -> FirstStart:
    asked = replace(case, stream=evidence, outputs=(), root=root, error=None, event_log=None)
    return FirstStart(evidence=evidence, findings=judge(asked, own_catalogue(asked)).findings)


def _open(
    into: IntoSink, options: Mapping[str, str]
) -> tuple[LedgerLook | SinkEvidence, Unclear | None]:
    """Return how to look into the ledger of a sink; without a ledger, what a start then knows."""
    contract = _contract_of(into)
    try:
        sink, store = open_recorded(contract, options=options)
    except HoldfastError as error:
        is_postgres = into.kind == "postgres"
        shown = f"the {'PostgreSQL' if is_postgres else 'Delta'} table {into.place}"
        how = "Set the DSN in the environment, and name it: --dsn env:NAME."
        unclear = Unclear(
            what=f"the ledger of {shown} was not looked at: {error.why.rstrip('.')}",
            how=how if is_postgres else "Name the table's location: --sink LOCATION.",
        )
        held = SinkEvidence(sink=contract.label, display_name=shown, row=None, held=None)
        return held, unclear
    look = LedgerLook(
        sink=sink.label, display_name=sink.display_name, store=store, is_added=lambda: False
    )
    return look, None


def _contract_of(into: IntoSink) -> SinkContract:
    place = into.place or ""
    if into.kind == "postgres":
        secret = into.dsn or ""
        where = f"postgresql:{place}@{secret}"
        return SinkContract(kind="postgres", place=where, label=place, secret=secret)
    return SinkContract(kind="delta", place=place, label=place.rstrip("/").rpartition("/")[2])
