"""`hf.start`: one call instead of `.start()`, guarded (G1 to G8)."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import Any

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import read_checkpoint
from holdfast.errors import HoldfastError
from holdfast.evidence.next_start import predict_next_start
from holdfast.evidence.outcomes import Refuses, RunsAgain, Unknown
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.evidence.versions import SparkVersion
from holdfast.ids import QueryId
from holdfast.ledger.coverage import NOTHING_READ, read_coverage
from holdfast.ledger.row import NO_BATCH, Binding, LedgerRow
from holdfast.points import reached
from holdfast.record.leases import Lease, Waiting, release, take_lease
from holdfast.record.owner import this_process
from holdfast.rules import Finding, judge
from holdfast.sinks.sink import Sink
from holdfast.streams.batches import BatchWriter
from holdfast.streams.keeper import Keeper
from holdfast.streams.orphan import move_orphans_aside
from holdfast.streams.place import Place, find_place

_LOG = logging.getLogger("holdfast")
_OLDEST, _NEWEST = (4, 0), (4, 2)


class StartRefusedError(HoldfastError):
    """A stream was not started, because starting it would lose or double data."""

    code = "START_REFUSED"

    def __init__(self, stream: str, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        first = findings[0]
        super().__init__(
            what=f"{first.code} {first.name}: {stream} was not started; nothing was written.",
            why=" ".join(finding.what for finding in findings),
            how=first.how,
        )


class FenceNotTakenError(HoldfastError):
    """A later driver has the sink: this one came too late."""

    code = "FENCE_NOT_TAKEN"

    def __init__(self, stream: str, shown: str) -> None:
        super().__init__(
            what=f"{stream} was not started; nothing was written.",
            why=f"{shown} was fenced by a later driver of {stream} while this one was starting.",
            how="Let the later driver run, or stop it and start again.",
        )


class UnsupportedSparkError(HoldfastError):
    """This Spark session cannot run a guarded stream."""

    code = "UNSUPPORTED_SPARK"

    def __init__(self, why: str) -> None:
        super().__init__(
            what="The stream was not started; nothing was written.",
            why=why,
            how="Use a classic session of PySpark 4.0 to 4.2.",
        )


def start(  # noqa: PLR0913 - what Spark and the guard need, each by name
    df: Any,
    *,
    stream: str,
    into: Sink,
    root: str | None = None,
    trigger: dict[str, Any] | None = None,
    outputMode: str = "append",  # noqa: N803 - Spark's own word
    takeover: bool = False,
) -> Any:
    """Start a guarded query; return Spark's `StreamingQuery`.

    Args:
        df: The streaming DataFrame.
        stream: The stream's stable name.
        into: The sink.
        root: Where checkpoints and records are; by default the session's `spark.holdfast.root`.
        trigger: As for Spark's `trigger`: `{"processingTime": "10 seconds"}`.
        outputMode: As for Spark.
        takeover: Do not wait for another driver that still holds the lease.

    Raises:
        StartRefusedError: Starting would lose or double data.
        HoldfastError: The place, the sink or the session cannot be used.
    """
    _check_session(df.sparkSession)
    place = find_place(df.sparkSession, stream, root)  # G1
    reached("G1")
    with ExitStack() as undone:
        undone.callback(into.close)
        into.prepare(df.schema, output_mode=outputMode)
        lease = take_lease(place.record, this_process(), takeover=takeover, tell=_tell)  # G2
        undone.callback(release, place.record, lease)
        reached("G2")
        writer = _guard(df.sparkSession, place, lease, sink=into)
        query = _begin(df, place, writer, trigger=trigger, output_mode=outputMode)  # G6
        undone.pop_all()
    writer.keeper.keep(query)
    reached("G6")
    return query


def _check_session(spark: Any) -> None:
    if not hasattr(spark, "_jsparkSession"):
        raise UnsupportedSparkError("This is a Spark Connect session; the guard needs the driver.")
    if not _OLDEST <= _version(spark) <= _NEWEST:
        raise UnsupportedSparkError(f"This is Spark {spark.version}.")


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


def _guard(spark: Any, place: Place, lease: Lease, *, sink: Sink) -> BatchWriter:
    """Judge what is there (G3) and fence the sink (G5)."""
    evidence = _collect(place, sink)
    if move_orphans_aside(evidence.checkpoint, place.checkpoint, place.record):
        evidence = _collect(place, sink)
    findings = judge(evidence)
    if findings:
        raise StartRefusedError(place.stream, findings)
    reached("G3")
    row = evidence.sinks[0].row or _open_row(evidence, sink)
    fenced = sink.fence(row, epoch=lease.epoch, nonce=lease.token)
    if fenced is None:
        raise FenceNotTakenError(place.stream, sink.shown)
    # What was read before the fence is older than it: judged again.
    if findings := judge(_collect(place, sink)):
        raise StartRefusedError(place.stream, findings)
    reached("G5")
    _say(evidence, lease, spark=_version(spark))
    return BatchWriter(
        spark=spark,
        stream=place.stream,
        generation=place.generation.number,
        binding=evidence.binding,
        checkpoint=place.checkpoint,
        sink=sink,
        keeper=Keeper(place.record, lease, sink),
    )


def _collect(place: Place, sink: Sink) -> StreamEvidence:
    checkpoint = read_checkpoint(place.checkpoint)
    row = sink.read_row(place.stream)
    held = None
    if row is not None and row.last_batch in checkpoint.offsets:
        held = read_coverage(place.checkpoint, row.last_batch)
    metadata = checkpoint.metadata
    query_id = metadata.query_id if isinstance(metadata, QueryMetadata) else QueryId("")
    return StreamEvidence(
        stream=place.stream,
        generation=place.generation,
        checkpoint=checkpoint,
        binding=Binding(query_id=query_id, checkpoint=place.generation.checkpoint),
        sinks=(SinkEvidence(sink=sink.name, shown=sink.shown, row=row, held=held),),
    )


def _open_row(evidence: StreamEvidence, sink: Sink) -> LedgerRow:
    """Make the ledger row of a stream that has never run: no rule would let it pass otherwise."""
    row = LedgerRow(
        stream=evidence.stream,
        sink=sink.name,
        generation=evidence.generation.number,
        epoch=0,
        nonce="",
        binding=evidence.binding,
        last_batch=NO_BATCH,
        digest=None,
        end_offsets=NOTHING_READ,
    )
    sink.open_row(row)
    return row


def _say(evidence: StreamEvidence, lease: Lease, *, spark: SparkVersion) -> None:
    predicted = predict_next_start(evidence.checkpoint, spark=spark)
    row = evidence.sinks[0].row
    if isinstance(predicted, RunsAgain):
        is_there = row is not None and row.last_batch == predicted.batch_id
        then = "already in the sink: will be skipped" if is_there else "not in the sink yet"
        doing = f"resumes at batch {predicted.batch_id} (pending, {then})"
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
        lease.epoch,
        doing,
        lease.owner,
        *spark,
    )


def _begin(
    df: Any, place: Place, writer: BatchWriter, *, trigger: dict[str, Any] | None, output_mode: str
) -> Any:
    stream = df.writeStream.foreachBatch(writer).outputMode(output_mode).queryName(place.stream)
    stream = stream.option("checkpointLocation", _spark_location(place.generation.checkpoint))
    return stream.trigger(**trigger).start() if trigger else stream.start()


def _spark_location(text: str) -> str:
    """Return a location as Spark's file systems know it: S3 is `s3a://` there."""
    return f"s3a{text.removeprefix('s3')}" if text.startswith("s3://") else text
