"""`hf.start`: one call instead of `.start()`, guarded (G1 to G8)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from holdfast import clock
from holdfast.errors import ConfigError
from holdfast.evidence.next_start import predict_next_start
from holdfast.evidence.outcomes import Refuses, RunsAgain, Unknown
from holdfast.evidence.stream import StreamEvidence
from holdfast.evidence.versions import SparkVersion
from holdfast.points import reached, tell
from holdfast.record.leases import Lease, Waiting, release, take_lease
from holdfast.record.owner import this_process
from holdfast.record.runs import Run
from holdfast.sinks.sink import LedgerSink, Sink, as_sinks, ledgers_of
from holdfast.storage.location import parse_location, refuse_credentials, spark_location
from holdfast.streams.accepting import read_accept
from holdfast.streams.batches import BatchWriter
from holdfast.streams.describe import describe_query
from holdfast.streams.guard import Guard
from holdfast.streams.journal import Journal
from holdfast.streams.keeper import Keeper, refuse_second_query, stop_query
from holdfast.streams.place import Place, find_place
from holdfast.streams.refusal import UnsupportedSparkError
from holdfast.streams.repeatable import is_repeatable

_LOG = logging.getLogger("holdfast")
_OLDEST, _NEWEST = (4, 0), (4, 2)
RETENTION = "spark.sql.streaming.minBatchesToRetain"
_ROCKSDB, _FEWEST_RETAINED = "RocksDBStateStoreProvider", 2
"""Versions of state: that which the batch in hand begins from, and the one that it makes. The other
provider keeps one more than it is told."""


def start(  # noqa: PLR0913 - what Spark and the guard need, each by name
    df: Any,
    *,
    stream: str,
    into: Sink | Sequence[Sink],
    root: str | None = None,
    trigger: dict[str, Any] | None = None,
    outputMode: str = "append",  # noqa: N803 - Spark's own word
    checkpoint: str | None = None,
    accept: str | None = None,
    takeover: bool = False,
) -> Any:
    """Start a guarded query; return Spark's `StreamingQuery`.

    Args:
        df: The streaming DataFrame.
        stream: The stream's stable name.
        into: The sink, or several: each batch goes to all of them, in this order.
        root: Where checkpoints and records are; by default the session's `spark.holdfast.root`.
        trigger: As for Spark's `trigger`: `{"processingTime": "10 seconds"}`.
        outputMode: As for Spark.
        checkpoint: An existing checkpoint that this stream takes over, wherever it is.
        accept: A refusal to go on past, once, as it was printed: `HF604:7c1f`.
        takeover: Do not wait for another driver that still holds the lease.

    Raises:
        StartRefusedError: Starting would lose or double data.
        HoldfastError: The place, the sink or the session cannot be used.
    """
    return _Start(
        df=df,
        stream=stream,
        sinks=as_sinks(into),
        root=root,
        trigger=trigger or {},
        output_mode=outputMode,
        checkpoint=checkpoint,
        accept=accept,
        takeover=takeover,
    ).go()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """What `start` was asked for."""

    df: Any
    stream: str
    sinks: tuple[Sink, ...]
    root: str | None
    trigger: dict[str, Any]
    output_mode: str
    checkpoint: str | None
    accept: str | None
    takeover: bool

    def go(self) -> Any:
        """Start the query: G1 to G6, in this order. What fails leaves no lease behind."""
        from holdfast.streams.query import GuardedQuery

        spark = self.df.sparkSession
        given = read_accept(self.accept)
        _check_session(spark)
        _check_sinks(self.sinks)
        place = find_place(spark, self.stream, self.root, checkpoint=self.checkpoint)  # G1
        refuse_second_query(spark, place.record, self.stream)
        reached("G1")
        with ExitStack() as undone:
            sinks = self._prepare(undone)
            lease = self._take_lease(place, sinks)  # G2
            undone.callback(release, place.record, lease)
            place = place.refreshed()  # the driver that held the lease may have opened the stream
            tell("epoch", lease.epoch)
            reached("G2")
            names = tuple(sink.name for sink in sinks)
            guard = Guard(
                place=place,
                sinks=sinks,
                lease=lease,
                contract=describe_query(self.df, sinks=names, output_mode=self.output_mode),
                spark=_version(spark),
            )
            evidence, accepted = guard.judge(given)  # G3, G4
            guard.fence(evidence, accepted)  # G5
            _say(evidence, guard)
            self._warn(guard)
            writer = self._writer(evidence, guard)
            query = self._begin(place, writer)  # G6
            undone.callback(stop_query, query)  # first of all, should anything fail from here on
            writer.keeper.keep(query, _run(query, evidence, guard))
            undone.pop_all()
        reached("G6")
        return GuardedQuery(query, stream=self.stream, keeper=writer.keeper)

    def _prepare(self, undone: ExitStack) -> tuple[Sink, ...]:
        """Return the sinks for this start; each is closed when the start fails."""
        sinks = []
        for sink in self.sinks:
            mine = sink.prepare(self.df, stream=self.stream, output_mode=self.output_mode)
            undone.callback(mine.close)
            sinks.append(mine)
        _check_sinks(sinks)
        return tuple(sinks)

    def _take_lease(self, place: Place, sinks: tuple[Sink, ...]) -> Lease:
        """Take the next epoch, above what sinks hold: a record may be older than its sinks."""
        rows = [sink.read_row(self.stream) for sink in ledgers_of(sinks)]
        return take_lease(
            place.record,
            this_process(),
            takeover=self.takeover,
            after=max((row.epoch if row else 0 for row in rows), default=None),
            tell=_tell,
        )

    def _warn(self, guard: Guard) -> None:
        """Say what is not wrong now and can make a later start impossible, or not exact."""
        retained = int(self.df.sparkSession.conf.get(RETENTION))
        if guard.contract.state_provider == _ROCKSDB and retained < _FEWEST_RETAINED:
            _LOG.warning(
                "holdfast: %s is %s: Spark can delete the state that a batch begins from while"
                " it runs, and a batch that then fails never runs again. Set it to 2 or more",
                RETENTION,
                retained,
            )
        for sink in self.sinks:
            if not isinstance(sink, LedgerSink):
                _LOG.warning(
                    "holdfast: %s runs at least once per batch; exactly-once is not claimed for it",
                    sink.shown,
                )

    def _writer(self, evidence: StreamEvidence, guard: Guard) -> BatchWriter:
        journal = Journal(
            record=guard.place.record,
            is_needed=len(self.sinks) > 1 and not is_repeatable(self.df),
            first_batch=max(evidence.newest_planned, evidence.newest_committed + 1),
        )
        return BatchWriter(
            spark=self.df.sparkSession,
            stream=evidence.stream,
            generation=evidence.generation.number,
            binding=evidence.binding,
            checkpoint=guard.place.checkpoint,
            sinks=guard.sinks,
            journal=journal,
            keeper=Keeper(guard.place.record, guard.lease, guard.sinks),
        )

    def _begin(self, place: Place, writer: BatchWriter) -> Any:
        stream = self.df.writeStream.foreachBatch(writer).outputMode(self.output_mode)
        stream = stream.queryName(self.stream)
        location = spark_location(parse_location(place.generation.checkpoint))
        stream = stream.option("checkpointLocation", location)
        return stream.trigger(**self.trigger).start() if self.trigger else stream.start()


def _check_session(spark: Any) -> None:
    if not hasattr(spark, "_jsparkSession"):
        raise UnsupportedSparkError("This is a Spark Connect session; the guard needs the driver.")
    if not _OLDEST <= _version(spark) <= _NEWEST:
        raise UnsupportedSparkError(f"This is Spark {spark.version}.")


def _check_sinks(sinks: Sequence[Sink]) -> None:
    """Refuse a stream without a sink, and two sinks that are one: each row would be there twice."""
    names = [sink.name for sink in sinks]
    for name in names:
        if "://" in name:  # else it is no location: a name may be `postgresql:gold@prod`
            refuse_credentials(name)
    if not sinks or len(set(names)) < len(names):
        shown = ", ".join(names) or "none"
        raise ConfigError(f"A stream needs sinks of different names; these are {shown}.")
    for sink, other in combinations(sinks, 2):
        if sink.identity == other.identity:
            raise ConfigError(
                f"Two sinks of the stream are the same, {sink.shown}: every row would be in it "
                "twice. Name it once."
            )


def _version(spark: Any) -> SparkVersion:
    major, minor = spark.version.split(".")[:2]
    return int(major), int(minor)


def _tell(waiting: Waiting) -> None:
    _LOG.info(
        "holdfast: waiting for the lease of %s (epoch %s), %.0f s at most",
        waiting.lease.owner,
        waiting.lease.epoch,
        waiting.seconds_left,
    )


def _run(query: Any, evidence: StreamEvidence, guard: Guard) -> Run:
    return Run(
        epoch=guard.lease.epoch,
        run_id=query.runId,
        generation=evidence.generation.number,
        contract=guard.contract.digest,
        spark=".".join(map(str, guard.spark)),
        started_at=clock.now().isoformat(timespec="seconds"),
        first_batch=evidence.newest_committed + 1,
    )


def _say(evidence: StreamEvidence, guard: Guard) -> None:
    """Say in one line what starts, and what it begins with."""
    predicted = predict_next_start(evidence.checkpoint, spark=guard.spark)
    if isinstance(predicted, RunsAgain):
        doing = f"resumes at batch {predicted.batch_id} (pending, {_standing(evidence, predicted)})"
    elif isinstance(predicted, Refuses):
        doing = f"will be refused by Spark: {predicted.because}"
    elif isinstance(predicted, Unknown):
        doing = f"starts, and what Spark does is not known: {predicted.because}"
    else:
        doing = f"begins batch {evidence.newest_planned + 1}"
    _LOG.info(
        "holdfast: %s generation %s epoch %s %s; owner %s; spark %s.%s",
        evidence.stream,
        evidence.generation.number,
        guard.lease.epoch,
        doing,
        guard.lease.owner,
        *guard.spark,
    )


def _standing(evidence: StreamEvidence, predicted: RunsAgain) -> str:
    """Say whether a pending batch is in the sink already."""
    holding = [sink.shown for sink in evidence.sinks if sink.last_batch == predicted.batch_id]
    if not evidence.sinks:
        return "whether it arrived is not known"
    if not holding:
        return "not in the sink yet"
    if len(holding) < len(evidence.sinks):
        return f"already in {' and '.join(holding)}: only the others get it"
    drained = " and drained" if evidence.checkpoint.state else ""
    return f"already in {' and '.join(holding)}: will be skipped{drained}"
