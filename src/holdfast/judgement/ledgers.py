"""Reads the ledgers of a guarded stream without its program: each is opened from the contract.

What a contract does not suffice for, and what cannot be reached from here, is unreadable with the
reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.errors import HoldfastError
from holdfast.evidence.checkpoint_evidence import Evidence
from holdfast.evidence.collect import LedgerLook, StreamPlaces, collect_ledgers
from holdfast.evidence.guard_record import GuardRecord
from holdfast.evidence.query import Query
from holdfast.evidence.stream import StreamEvidence
from holdfast.ledger.store import LedgerStore, Unreadable
from holdfast.record.contracts import SinkContract
from holdfast.sinks.kinds import open_recorded
from holdfast.spark_versions import SparkVersion
from holdfast.storage.read import Reader


def collect_ledgers_of(
    record: GuardRecord,
    checkpoint: Reader,
    found: Evidence,
    *,
    spark: SparkVersion,
    options: Mapping[str, str],
) -> StreamEvidence:
    """Add what the ledgers of a stream say to what is known of its checkpoint.

    Args:
        record: Of the stream.
        checkpoint: Its reader.
        found: What is known of it.
        spark: The version that will be started.
        options: Of the store.
    """
    contract = record.contract
    sinks = () if contract is None else contract.sink_places
    sources = () if contract is None else contract.sources
    query = None
    if contract is not None:
        query = Query(sources=len(sources), operators=contract.operators)
    places = StreamPlaces(
        stream=record.stream,
        generation=record.generation,
        checkpoint=checkpoint,
        ledgers=tuple(_look(each, options) for each in sinks),
        query=query,
        spark=spark,
        sources=sources,
        sources_before=sources,
    )
    try:
        return collect_ledgers(places, found)
    finally:
        for look in places.ledgers:
            if isinstance(look.store, LedgerStore):
                look.store.close()


def _look(contract: SinkContract, options: Mapping[str, str]) -> LedgerLook:
    shown = f"the {contract.kind} sink {contract.label}"
    store: LedgerStore | Unreadable
    try:
        sink, store = open_recorded(contract, options=options)
        shown = sink.display_name
    except HoldfastError as error:
        store = Unreadable.by(error)
    return LedgerLook(sink=contract.label, display_name=shown, store=store, is_added=lambda: False)
