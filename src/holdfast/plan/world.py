"""What a plan is made from: everything known of one stream, and what its sinks hold now."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from threading import Timer

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.text import parse_json_object
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.guard_record import GuardRecord
from holdfast.ids import BatchId
from holdfast.judgement.case import DiagnoseRequest, collect_case, probe_by_ends
from holdfast.judgement.judge import Judgement, judge
from holdfast.ledger.row import LedgerRow
from holdfast.ledger.store import Unreadable
from holdfast.plan.plain import (
    OutputDirectory,
    PlainOutputs,
    add_logged_sink,
    find_outputs,
    sinks_of,
)
from holdfast.plan.plan_file import NoPlan
from holdfast.record.backfills import read_backfills
from holdfast.record.contracts import SinkContract
from holdfast.record.layout import is_stream_name, record_location
from holdfast.sinks.kinds import open_recorded
from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader

_PATIENCE_S = 3.0


class SinkNow(msgspec.Struct, frozen=True, kw_only=True):
    """One sink of a stream, as it is now."""

    contract: SinkContract
    display_name: str
    row: LedgerRow | None = None
    table: str | None = None
    """What tells its content apart; None when nothing does, or there is no table."""
    rows: int | None = None
    """How many rows it holds; None when that is not known."""
    needs_spark: bool = False
    """Whether only a Spark session can change it."""
    keeps_versions: bool = False
    """Whether it has older versions of its rows."""
    versions: Mapping[int, str] = msgspec.field(default_factory=dict)
    """The version of the table after each of the stream's batches, as far back as it tells."""
    others: tuple[str, ...] = ()
    """Other streams that write into the same table."""
    backfills: tuple[str, ...] = ()
    """Backfills of the stream that have written into it: its own rows, under names of their own."""
    unreadable: str = ""
    """Why it could not be looked at; empty when it was."""


class StreamNow(msgspec.Struct, frozen=True, kw_only=True):
    """One stream, as it is now."""

    stream: str
    root: Location
    case: Case
    checkpoint: Reader
    record: Reader
    """Of the stream's record, which need not be there."""
    sinks: tuple[SinkNow, ...] = ()
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Of the store."""
    directories: tuple[OutputDirectory, ...] = ()
    """Of a plain stream: outputs of Spark's file sink."""
    by_hand: tuple[str, ...] = ()
    """Of a plain stream: what of its output Holdfast cannot change, one sentence each."""
    sources_given: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Where sources are, as they were named."""

    @property
    def is_plain(self) -> bool:
        """Whether it is a checkpoint without a record of guarded runs."""
        return self.guard is None

    @property
    def query_id(self) -> str:
        """As its checkpoint says it; empty when that does not."""
        found = self.case.checkpoint.metadata
        return found.query_id if isinstance(found, QueryMetadata) else ""

    @property
    def judgement(self) -> Judgement:
        """What the rules say of it, as `holdfast diagnose` does."""
        return judge(self.case)

    @property
    def guard(self) -> GuardRecord | None:
        """What the record says; None for a bare checkpoint."""
        return self.case.record

    @property
    def place(self) -> str:
        """Where its checkpoint is."""
        return str(self.checkpoint.location)

    @property
    def is_stateful(self) -> bool:
        """Whether the query keeps state, as far as checkpoint and contract tell."""
        contract = None if self.guard is None else self.guard.contract
        has_operators = contract is not None and bool(contract.operators)
        return has_operators or bool(self.case.checkpoint.state)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The sinks that keep no ledger: what they hold is not known."""
        contract = None if self.guard is None else self.guard.contract
        known = {sink.contract.label for sink in self.sinks}
        return () if contract is None else tuple(sorted(set(contract.sinks) - known))

    @property
    def source_count(self) -> int:
        """How many sources the query of the last run has; 0 when that is not known."""
        if self.guard is None:
            newest = self.case.checkpoint.offsets.get(BatchId(self.case.newest_planned))
            return len(newest.offsets) if isinstance(newest, OffsetEntry) else 0
        return 0 if self.guard.contract is None else len(self.guard.contract.sources)

    def refuse_unreadable(self) -> NoPlan | None:
        """Return why there is no plan while a sink cannot be looked at; None if all can."""
        for sink in self.sinks:
            if sink.unreadable:
                return NoPlan(reason=f"{sink.display_name} cannot be looked at: {sink.unreadable}")
        return None

    @property
    def generation(self) -> int:
        """The number of its current generation; 0 for a bare checkpoint."""
        return 0 if self.guard is None else self.guard.generation.number


def look_at_stream(looks: DiagnoseRequest, *, is_first: bool = True) -> StreamNow:
    """Collect everything known of a stream or a bare checkpoint; nothing is changed.

    Args:
        looks: Where it is, and what else to look at.
        is_first: Whether sinks that are named without a stream are meant for this one.

    Raises:
        HoldfastError: It cannot be read.
    """
    name = bare_name(parse_location(looks.location).name) if looks.root is None else looks.location
    given = sinks_of(name, looks.sinks, is_first=is_first)
    case = collect_case(replace(looks, sinks=given.places))
    location = case.checkpoint.location
    if case.record is not None and looks.root is not None:
        root, stream = parse_location(looks.root), case.record.stream
    else:
        root = location.parent or location
        stream = case.record.stream if case.record else bare_name(location.name)
    if case.record is None:
        case = add_logged_sink(case, looks.options)
    plain = find_outputs(case, given) if case.record is None else PlainOutputs()
    contract = None if case.record is None else case.record.contract
    record = open_reader(record_location(root, stream), looks.options)
    own = () if contract is None else tuple(read_backfills(record))
    sinks = plain.sinks if contract is None else contract.sink_places
    looked_at = (look_at_sink(each, stream, looks.options) for each in sinks)
    now = StreamNow(
        stream=stream,
        root=root,
        case=case,
        checkpoint=open_reader(location, looks.options),
        record=record,
        sinks=tuple(_without_backfills(each, own) for each in looked_at),
        options=looks.options,
        directories=plain.directories,
        by_hand=plain.by_hand,
        sources_given=looks.sources,
    )
    return _ask_sources(now, looks)


def _without_backfills(sink: SinkNow, own: Collection[str]) -> SinkNow:
    """Return a sink whose other streams are those of others: a backfill has rows of the stream."""
    return replace(
        sink,
        others=tuple(each for each in sink.others if each not in own),
        backfills=tuple(each for each in sink.others if each in own),
    )


def _ask_sources(now: StreamNow, looks: DiagnoseRequest) -> StreamNow:
    """Return a stream whose sources were asked also where only its sinks say what it has read."""
    rows = [sink.row for sink in now.sinks if sink.row is not None and not now.is_plain]
    newest = max(rows, key=lambda row: row.last_batch, default=None)
    ends = None if newest is None else parse_json_object(newest.end_offsets)
    if not looks.probe or now.case.sources or not ends:
        return now
    texts = {at: end if isinstance(end, str) else json.dumps(end) for at, end in ends.items()}
    return replace(now, case=replace(now.case, sources=probe_by_ends(looks, texts)))


def look_at_sink(contract: SinkContract, stream: str, options: Mapping[str, str]) -> SinkNow:
    """Return a sink as it is now; what cannot be looked at says why."""
    try:
        spec, store = open_recorded(contract, options=options)
        with closing(store), _saying_who_is_slow(spec.display_name):
            row = store.read(stream)
            why = row.why if isinstance(row, Unreadable) else ""
            return SinkNow(
                contract=contract,
                display_name=spec.display_name,
                row=row if isinstance(row, LedgerRow) else None,
                table=None if why else store.table_version(stream),
                rows=None if why else store.count_rows(),
                needs_spark=spec.settles_with_spark,
                keeps_versions=store.keeps_versions,
                versions={} if why else store.batch_versions(stream),
                others=() if why else store.other_streams(stream),
                unreadable=why,
            )
    except HoldfastError as error:
        named = f"the {contract.kind} sink {contract.label}"
        return SinkNow(contract=contract, display_name=named, unreadable=error.why)


@contextmanager
def _saying_who_is_slow(shown: str) -> Iterator[None]:
    """Say which sink does not answer while it is waited for: a table can be locked."""
    waited = f"it has not answered for {_PATIENCE_S:.0f} s. A session may hold a lock"
    timer = Timer(_PATIENCE_S, emit, (Warned(f"waiting for {shown}: {waited}"),))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def at_snapshot(now: StreamNow, place: Location) -> StreamNow:
    """Return a stream as if its checkpoint were a copy of it."""
    reader = open_reader(place, now.options)
    checkpoint = replace(collect(reader).checkpoint, location=place)
    return replace(now, case=replace(now.case, checkpoint=checkpoint), checkpoint=reader)


def bare_name(name: str) -> str:
    """Return the name under which a bare checkpoint is repaired: its own, made a stream's name."""
    text = "".join(each if each.isascii() and each.isalnum() else "-" for each in name.lower())
    text = text.lstrip("-")[:63] or "checkpoint"
    return name if is_stream_name(name) else text
