"""`hf.start`: one call instead of `.start()`, guarded (G1 to G8)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from holdfast import clock
from holdfast.errors import HoldfastError, without_our_frames
from holdfast.events import emit
from holdfast.events.starts import LeaseTaken, QueryStarted, Refused, Resolved
from holdfast.evidence.stream import StreamEvidence
from holdfast.record.contracts import contract_before
from holdfast.record.epochs import is_taken
from holdfast.record.leases import Lease, take_lease
from holdfast.record.owner import this_process
from holdfast.record.runs import Run
from holdfast.sinks.given import as_sinks
from holdfast.sinks.sink import SinkSpec, SinkWriter
from holdfast.sources.probe import SourceProbe
from holdfast.spark.errors import spark_errors
from holdfast.spark.port import port_of
from holdfast.spark_versions import version_text
from holdfast.storage.location import spark_location
from holdfast.streams.accepting import Given, accepted_by_operator
from holdfast.streams.announce import WaitingTeller, announce, warn
from holdfast.streams.batches import BatchWriter
from holdfast.streams.fan_out import BatchSpool
from holdfast.streams.guard import Guard
from holdfast.streams.handed_over import renewer_of
from holdfast.streams.heartbeat import LeaseRenewer, refuse_second_query
from holdfast.streams.place import Place, find_place
from holdfast.streams.query_end import stop_named
from holdfast.streams.refusal import LeaseLostAtStartError
from holdfast.streams.resolve import (
    check_identities,
    check_reset,
    check_session,
    check_streaming,
    check_trigger,
    highest_epoch,
    resolve_sinks,
)
from holdfast.streams.sending import SentWriter, check_sendable, send
from holdfast.streams.slow_start import SlowStart
from holdfast.streams.source_probes import SourceProbes, topic_ids_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


@without_our_frames
def start(  # noqa: PLR0913 - what Spark and the guard need, each by name
    df: DataFrame,
    *,
    stream: str,
    into: SinkSpec | Sequence[SinkSpec],
    root: str | None = None,
    trigger: dict[str, Any] | None = None,
    outputMode: str = "append",  # noqa: N803 - Spark's own word
    checkpoint: str | None = None,
    accept: str | None = None,
    takeover: bool = False,
    reset: str | None = None,
) -> StreamingQuery:
    """Start a guarded query; return Spark's `StreamingQuery`.

    Args:
        df: The streaming DataFrame.
        stream: The stream's stable name.
        into: The sink, or several: each batch goes to all of them, in this order.
        root: Where checkpoints and records are; by default the session's `spark.holdfast.root`.
        trigger: As for Spark: `{"processingTime": "10 seconds"}`.
        outputMode: As for Spark.
        checkpoint: An existing checkpoint that this stream takes over, wherever it is.
        accept: Waive one refusal, for this start only, as it was printed: `HF604:7c1f`.
        takeover: Do not wait for another driver that still holds the lease.
        reset: `"forbidden"` locks the stream: `holdfast plan reset` and `rewind` are refused.

    Raises:
        HoldfastError: A start would lose or duplicate data, or something cannot be used.
    """
    given = dict[str, Any](root=root, checkpoint=checkpoint, accept=accept, takeover=takeover)
    return Start(
        df=df,
        writer=_write(df, trigger, outputMode),
        stream=stream,
        sinks=as_sinks(into),
        output_mode=outputMode,
        reset=check_reset(reset),
        **given,
    ).go()


def _write(df: DataFrame, trigger: dict[str, Any] | None, output_mode: str) -> DataStreamWriter:
    """Return Spark's writer of a DataFrame, with its trigger and output mode."""
    check_trigger(trigger)
    check_streaming(df)
    writer = df.writeStream.outputMode(output_mode)
    return writer.trigger(**trigger) if trigger else writer


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """A start of a stream: what was asked for, and the way from there to a running query."""

    df: DataFrame
    writer: DataStreamWriter
    """Spark's `DataStreamWriter`, with trigger and output mode; the sink is set here."""
    stream: str
    sinks: tuple[SinkSpec, ...]
    root: str | None
    output_mode: str
    checkpoint: str | None
    accept: str | None
    takeover: bool
    reset: str = ""
    """`forbidden` when the code locks the stream against a reset."""

    def go(self) -> StreamingQuery:
        """Resolve, check, open, start: G1 to G6, in this order.

        Until `open` nothing is created but the lease, which a start that fails releases.
        """
        spark = self.df.sparkSession
        given = accepted_by_operator(self.accept)
        check_session(spark)
        try:
            with SlowStart(self.stream) as slow:
                return self._go(given, slow)
        except HoldfastError as error:
            emit(Refused(stream=self.stream, code=error.code))
            raise

    def _go(self, given: Given, slow: SlowStart) -> StreamingQuery:
        from holdfast.streams.query import guarded

        spark = self.df.sparkSession
        if port_of(spark).runs_functions_elsewhere:
            check_sendable(self.sinks, spark)
        slow.at("reads the record and looks at the sinks")
        place = find_place(spark, self.stream, self.root, checkpoint=self.checkpoint)  # G1
        refuse_second_query(spark, place.record, self.stream)
        with ExitStack() as undone:
            named = {"stream": self.stream, "output_mode": self.output_mode}
            sinks = resolve_sinks(self.sinks, self.df, **named, undone=undone)
            emit(_resolved(place, sinks))
            slow.at("takes the lease")
            lease = self._take_lease(place, sinks, slow)  # G2
            renewer = renewer_of(port_of(spark), place.record, lease, sinks=sinks)
            renewer.begin()
            undone.callback(renewer.abandon)
            slow.at("reads the checkpoint and the ledgers, and asks the sources")
            guard = self._guard(place, sinks, lease)
            checked = guard.check(given)  # G3
            slow.at("writes the record and fences the sinks")
            evidence = guard.open(checked.evidence)  # G4
            check_identities(sinks)  # of tables that were created just now
            guard.fence(evidence, checked.accepted)  # G5
            advice = announce(evidence, guard, checked.accepted)
            warn(spark, guard)
            writer = self._writer(evidence, guard, renewer)
            if not renewer.holds():  # a plan may be changing the checkpoint
                raise LeaseLostAtStartError(self.stream)
            # First of all, should anything fail from here on: also a Ctrl-C while Spark starts it.
            undone.callback(stop_named, spark, self.stream)
            slow.at("waits until Spark has started the query")
            renewer.hand_over()
            query = self._begin(guard, writer)  # G6
            renewer.keep(query, _run(query, evidence, guard, sources=checked.sources))
            undone.pop_all()
        at = (self.stream, guard.place.generation.number, lease.epoch)
        emit(QueryStarted(*at, query=str(query.id)))
        return guarded(query, stream=self.stream, renewer=renewer, advice=advice)

    def _take_lease(self, place: Place, sinks: tuple[SinkWriter, ...], slow: SlowStart) -> Lease:
        """Take the next epoch, above what sinks hold: a record may be older than its sinks."""
        lease = take_lease(
            place.record,
            this_process(),
            takeover=self.takeover,
            after=highest_epoch(sinks, self.stream),
            tell=WaitingTeller(slow.pause),
        )
        emit(LeaseTaken(stream=self.stream, epoch=lease.epoch, owner=str(lease.owner)))
        return lease

    def _guard(self, place: Place, sinks: tuple[SinkWriter, ...], lease: Lease) -> Guard:
        for sink in sinks:
            sink.look_again()  # as with the place: who held the lease may have created it
        names = tuple(sink.name for sink in sinks)
        places = tuple(sink.describe() for sink in sinks if sink.ledger is not None)
        contract, state = port_of(self.df.sparkSession).describe_query(
            self.df, sinks=names, output_mode=self.output_mode, sink_places=places
        )
        contract = msgspec.structs.replace(contract, reset=self.reset)
        place = place.refreshed()  # who held the lease may have opened the stream meanwhile
        before = contract_before(place.record, epoch=lease.epoch, generation=place.generation)
        return Guard(
            place=place,
            sinks=sinks,
            lease=lease,
            contract=contract,
            state=state,
            before=before,
            spark=check_session(self.df.sparkSession),
            probes=SourceProbes(
                df=self.df,
                record=place.record,
                epoch=lease.epoch,
                contract=contract,
                before=before,
            ),
        )

    def _writer(
        self, evidence: StreamEvidence, guard: Guard, renewer: LeaseRenewer
    ) -> BatchWriter | SentWriter:
        port = port_of(self.df.sparkSession)
        if port.runs_functions_elsewhere:
            return send(evidence, guard, output_mode=self.output_mode)
        spool = BatchSpool(
            record=guard.place.record,
            is_needed=len(self.sinks) > 1 and not port.is_repeatable(self.df),
            first_batch=max(evidence.newest_planned, evidence.newest_committed + 1),
        )
        return BatchWriter(
            query=port.running_query(self.df.sparkSession, evidence.binding.query_id),
            stream=evidence.stream,
            generation=evidence.generation.number,
            binding=evidence.binding,
            checkpoint=guard.place.checkpoint,
            sinks=guard.sinks,
            spool=spool,
            renewer=renewer,
        )

    def _begin(self, guard: Guard, writer: BatchWriter | SentWriter) -> StreamingQuery:
        location = spark_location(guard.place.checkpoint.location)
        stream = self.writer.queryName(self.stream).option("checkpointLocation", location)
        try:
            return guard.sinks[0].begin(stream, writer)
        except spark_errors() as error:
            refused = port_of(self.df.sparkSession).read_start_error(error)
            if refused is None:
                raise
            if is_taken(guard.place.record, guard.lease.epoch + 1):
                raise LeaseLostAtStartError(self.stream) from None
            raise refused from None


def _resolved(place: Place, sinks: tuple[SinkWriter, ...]) -> Resolved:
    return Resolved(
        stream=place.stream,
        generation=place.generation.number,
        checkpoint=str(place.checkpoint.location),
        sinks=" and ".join(sink.display_name for sink in sinks),
    )


def _run(
    query: StreamingQuery,
    evidence: StreamEvidence,
    guard: Guard,
    *,
    sources: tuple[SourceProbe, ...],
) -> Run:
    return Run(
        epoch=guard.lease.epoch,
        run_id=query.runId,
        generation=evidence.generation.number,
        contract=guard.contract.digest,
        spark=version_text(guard.spark),
        started_at=clock.now().isoformat(timespec="seconds"),
        first_batch=evidence.newest_committed + 1,
        topic_ids=topic_ids_of(sources),
    )
