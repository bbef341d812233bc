"""G1 to G6 of the data source: the right of one start of a query to write its batches.

Spark runs a data source in Python workers. No process of them lives as long as the query, so what a
start has found is written down: the lease names the JVM, its epoch and token stand in the ledger
row, and the first batch that is committed writes the run. Every batch finds its start again by
them, and renews the lease. Between two batches nobody does: after its term another driver may take
over. The epoch in the ledger row keeps both apart then, as it does without any lease.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast import clock
from holdfast.checkpoint.layout import METADATA
from holdfast.checkpoint.metadata import QueryMetadata, parse_metadata
from holdfast.checkpoint.whole import read_whole
from holdfast.datasource.answer import Claim
from holdfast.datasource.place import before_first_batch, find_source_place
from holdfast.datasource.spark_process import driver_process, started_ms
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.starts import LeaseTaken
from holdfast.evidence.case import Case
from holdfast.evidence.stream import StreamEvidence
from holdfast.ids import QueryId
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.ledger.store import LedgerStore
from holdfast.record.contracts import Contract, contract_before
from holdfast.record.epochs import newest_epoch
from holdfast.record.generations import current_generation
from holdfast.record.leases import Lease, read_lease, release, renew, take_lease
from holdfast.record.owner import Owner
from holdfast.record.runs import Run, run_names, write_run
from holdfast.sinks.parts import PartsWriter, open_parts
from holdfast.sinks.sink import SinkWriter
from holdfast.sources.probe import SourceProbe
from holdfast.spark_versions import SparkVersion, parse_version, version_text
from holdfast.streams.accepting import accepted_by_operator
from holdfast.streams.announce import WaitingTeller
from holdfast.streams.guard import Guard
from holdfast.streams.place import Place
from holdfast.streams.refusal import FenceNotTakenError
from holdfast.streams.resolve import check_labels, highest_epoch

if TYPE_CHECKING:
    import pyarrow as pa

    from holdfast.datasource.options import Asked
    from holdfast.storage.write import Writer


_LOOKED_BACK = 10
"""Leases: so many starts of other drivers between two batches of one are not expected."""


class ReplacedError(HoldfastError):
    """Another driver has taken the stream over since this start."""

    code = "REPLACED"

    def __init__(self, stream: str, owner: str) -> None:
        super().__init__(
            what=f"{stream} does not continue here; nothing of the batch was written.",
            why=f"Driver {owner} has taken it over since this query was started.",
            how="Leave that driver running. To continue here, stop it, and start the query again "
            "with what hf.guard_options returns then.",
        )


class SourceGuard(Guard, frozen=True, kw_only=True):
    """A guard that does not know the query: Spark does not show its plan to a data source.

    The checkpoint, the ledger and the record are judged. Sources are not asked, and the query is
    not compared with that of the last run.
    """

    @property
    def query(self) -> None:
        """Nothing is known of the query."""
        return

    def _case(self, evidence: StreamEvidence, sources: tuple[SourceProbe, ...]) -> Case:
        del sources
        return Case(checkpoint=evidence.checkpoint, stream=evidence, root=self.place.plan_root)


class _NoProbes:
    """Asks no source."""

    def ask(self, evidence: StreamEvidence) -> tuple[SourceProbe, ...]:
        del evidence
        return ()


def claim(asked: Asked, schema: pa.Schema, *, is_new: bool = False) -> Claim:
    """Return the right of this start to write: found again, or taken now (G1 to G5).

    Args:
        asked: What the options say.
        schema: Of the rows.
        is_new: Whether this driver's process has started the query again since the lease was taken.

    Raises:
        HoldfastError: The query must not write; nothing was written.
    """
    with ExitStack() as opened:
        place = find_source_place(asked)  # G1
        sink = opened.enter_context(open_parts(asked.sink, schema, asked.stream))
        check_labels([sink.name])
        mine = None if is_new else _find_mine(place, sink, asked)
        if mine is not None and renew(place.record, mine[0]) is not None:
            return _claim(sink, mine[1])
        return _take(asked, place, sink, is_new=is_new)


def _find_mine(place: Place, sink: PartsWriter, asked: Asked) -> tuple[Lease, LedgerRow] | None:
    """Return the lease of this start and the row that it has fenced; None without both."""
    row = sink.ledger.read(asked.stream)
    if not isinstance(row, LedgerRow) or not place.is_written_down:
        return None
    newest = newest_epoch(place.record, after=row.epoch)
    lease = read_lease(place.record, newest) if newest == row.epoch else None
    is_mine = (
        lease is not None
        and not lease.released
        and lease.token == row.nonce == asked.start
        and lease.owner == driver_process()
        and row.generation == place.generation.number
        and row.binding == Binding(query_id=_query_id(place), checkpoint=row.binding.checkpoint)
    )
    return (lease, row) if is_mine and lease is not None else None


def _lease(asked: Asked, place: Place, sink: PartsWriter, *, is_new: bool) -> Lease:
    """Take the next epoch, as soon as no other driver holds the one before (G2).

    Raises:
        ReplacedError: This start had an epoch, and another driver has taken a later one.
        LeaseHeldError: Another driver runs batches.
    """
    owner, highest = driver_process(), highest_epoch((sink,), asked.stream)
    last = read_lease(place.record, newest_epoch(place.record, after=highest))
    # Spark runs a checkpoint once in a JVM: the run of before has ended.
    is_again = last is not None and last.owner == owner
    if last is not None and not is_again and _had_lease(place.record, last, asked, owner=owner):
        raise ReplacedError(asked.stream, str(last.owner))
    lease = take_lease(
        place.record,
        owner,
        takeover=asked.takeover or is_new or is_again,
        after=highest,
        tell=WaitingTeller(),
        term_s=asked.lease_seconds,
        token=asked.start,
    )
    emit(LeaseTaken(stream=asked.stream, epoch=lease.epoch, owner=str(lease.owner)))
    return lease


def _take(asked: Asked, place: Place, sink: PartsWriter, *, is_new: bool) -> Claim:
    """Take the lease, judge, create what is missing, and fence: G2 to G5."""
    lease = _lease(asked, place, sink, is_new=is_new)
    with ExitStack() as undone:
        undone.callback(release, place.record, lease)
        sink.look_again()
        place = place.refreshed()
        before = contract_before(place.record, epoch=lease.epoch, generation=place.generation)
        guard = SourceGuard(
            place=_judged(place, sink.ledger, asked.stream, since_ms=started_ms(lease.owner)),
            sinks=(sink,),
            lease=lease,
            contract=_contract(before, sink),
            before=before,
            spark=_spark(),
            probes=_NoProbes(),
        )
        checked = guard.check(accepted_by_operator(asked.accept))  # G3
        evidence = guard.open(checked.evidence)  # G4
        guard.fence(evidence, checked.accepted)  # G5
        row = sink.ledger.read(asked.stream)
        if not isinstance(row, LedgerRow) or (row.epoch, row.nonce) != (lease.epoch, lease.token):
            raise FenceNotTakenError(asked.stream, sink.display_name)
        undone.pop_all()
    if not is_new:  # else the tasks of this batch have staged under the epoch of before
        sink.drop_dead(asked.stream, epoch=lease.epoch)
    return _claim(sink, row)


def _had_lease(record: Writer, last: Lease, asked: Asked, *, owner: Owner) -> bool:
    """Return whether this start had a lease before the last one: it must not get a new epoch."""
    for epoch in range(last.epoch - 1, max(last.epoch - _LOOKED_BACK, 0), -1):
        lease = read_lease(record, epoch)
        if lease is not None and (lease.token, lease.owner) == (asked.start, owner):
            return True
    return False


def _judged(place: Place, ledger: LedgerStore, stream: str, *, since_ms: int | None) -> Place:
    return before_first_batch(place, since_ms=since_ms) if ledger.read(stream) is None else place


def _claim(sink: PartsWriter, row: LedgerRow) -> Claim:
    return Claim(
        generation=row.generation,
        epoch=row.epoch,
        token=row.nonce,
        binding=row.binding,
        stage=sink.stage(row.stream, epoch=row.epoch),
    )


def _contract(before: Contract | None, sink: SinkWriter) -> Contract:
    """Return the contract: of the query only what the last run knew, of the sink all."""
    known = before or Contract(
        sources=(), sinks=(), output_mode="", operators=(), state_provider=""
    )
    places = (sink.describe(),)
    return replace(known, sinks=(sink.name,), sink_places=places, spark=version_text(_spark()))


def _query_id(place: Place) -> QueryId:
    """Return the query id that the checkpoint has now: it has another one once it was deleted."""
    raw = read_whole(place.checkpoint, METADATA)
    found = parse_metadata(METADATA, raw) if isinstance(raw, bytes) else None
    return found.query_id if isinstance(found, QueryMetadata) else QueryId("")


def _spark() -> SparkVersion:
    import pyspark

    return parse_version(pyspark.__version__) or ()


def is_restarted(record: Writer, claimed: Claim, run_id: str) -> bool:
    """Return whether an epoch was taken for another run of the query than this one."""
    runs = [found for epoch, found in run_names(record) if epoch == claimed.epoch]
    return bool(runs) and run_id not in runs


def write_down_run(
    record: Writer, claimed: Claim, run_id: str, *, batch: int, sink: SinkWriter
) -> None:
    """Write the run down with its first batch (G6)."""
    before = contract_before(record, epoch=claimed.epoch, generation=current_generation(record))
    run = Run(
        epoch=claimed.epoch,
        run_id=run_id,
        generation=claimed.generation,
        contract=_contract(before, sink).digest,
        spark=version_text(_spark()),
        started_at=clock.now().isoformat(timespec="seconds"),
        first_batch=batch,
    )
    write_run(record, run)
