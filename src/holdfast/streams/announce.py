"""What a start says: whom it waits for, what it begins with, and what may go wrong later."""

from __future__ import annotations

import math
from collections.abc import Callable
from shlex import quote
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.events.starts import Announced, LeaseAwaited, RepairAdvised
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.next_start import predict_by_logs
from holdfast.evidence.outcomes import Refuses, RunsAgain, Unknown
from holdfast.evidence.overview import overview_of
from holdfast.grades import Confidence, Severity
from holdfast.judgement.judge import judge
from holdfast.record.leases import SECONDS_OF_SILENCE, Waiting
from holdfast.rules import own_catalogue
from holdfast.spark_versions import version_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.evidence.stream import StreamEvidence
    from holdfast.streams.accepting import Accepted
    from holdfast.streams.guard import Guard

RETENTION = "spark.sql.streaming.minBatchesToRetain"
_ROCKSDB, _FEWEST_RETAINED = "RocksDBStateStoreProvider", 2
"""Versions of state: that which the batch in hand begins from, and the one that it makes. The other
provider keeps one more than it is told."""


class WaitingTeller:
    """Says whose lease a start waits for and how the wait ends: at once, then every 10 s."""

    def __init__(self, began: Callable[[], None] = lambda: None) -> None:
        """Have said nothing yet.

        Args:
            began: Called when there is something to wait for.
        """
        self._began = began
        self._said_at = -math.inf

    def __call__(self, waiting: Waiting) -> None:
        """Be told of a wait that goes on."""
        self._began()
        lease, now = waiting.lease, clock.monotonic()
        if now - self._said_at < SECONDS_OF_SILENCE:
            return
        self._said_at = now
        emit(
            LeaseAwaited(
                stream=waiting.stream,
                owner=str(lease.owner),
                epoch=lease.epoch,
                taken=lease.taken_at or "at an unknown time",
                seconds=waiting.seconds_waited,
                ends=waiting.say_end("this start", refused="in LEASE_HELD"),
            )
        )


def warn(spark: SparkSession, guard: Guard) -> None:
    """Say what is not wrong now and can make a later start impossible, or not exact."""
    retained = int(str(spark.conf.get(RETENTION)))
    if guard.contract.state_provider == _ROCKSDB and retained < _FEWEST_RETAINED:
        deleted = "Spark can delete the state that a batch begins from while it runs, and a batch"
        never = f"{deleted} that then fails never runs again. Set it to 2 or more"
        emit(Warned(f"{RETENTION} is {retained}: {never}"))
    for sink in guard.sinks:
        for text in sink.warnings():
            emit(Warned(text))
        if sink.ledger is None:
            emit(Warned(f"{sink.display_name} {sink.delivery}"))


def announce(evidence: StreamEvidence, guard: Guard, accepted: Accepted) -> str:
    """Say in one line what starts, and what it begins with.

    Args:
        evidence: From before the fence.
        guard: Of this start.
        accepted: What the operator says of the sinks, which the evidence does not know yet.

    Returns:
        What repairs the checkpoint, where Spark will refuse it; it is said too. Else nothing.
    """
    sure = evidence.next_start(guard.spark, query=guard.query)
    predicted = sure
    if isinstance(sure, Unknown):
        predicted = predict_by_logs(evidence.checkpoint, spark=guard.spark)
    if isinstance(predicted, RunsAgain):
        standing = _standing(evidence, predicted, accepted)
        doing = f"resumes at batch {predicted.batch_id} (pending, {standing})"
    elif isinstance(predicted, Refuses):
        doing = f"will be refused by Spark: {predicted.because}"
    elif isinstance(predicted, Unknown):
        doing = f"starts, and what Spark does is not known: {predicted.because}"
    else:
        doing = f"begins batch {evidence.newest_planned + 1}"
    if isinstance(sure, Unknown) and sure != predicted:
        doing += f" (whether Spark can load what it needs is unknown: {sure.because})"
    at = (evidence.stream, evidence.generation.number, guard.lease.epoch)
    owner, spark = str(guard.lease.owner), version_text(guard.spark)
    emit(Announced(*at, doing=doing, owner=owner, spark=spark))
    if not isinstance(predicted, Refuses):
        return ""
    advice = find_repair(evidence, guard)
    emit(RepairAdvised(stream=evidence.stream, advice=advice))
    return advice


def find_repair(evidence: StreamEvidence, guard: Guard) -> str:
    """Return what `holdfast diagnose` says to do about a checkpoint that Spark will refuse."""
    place = guard.place
    root = quote(place.plan_root or "ROOT")
    look = f"To see what is wrong, run: holdfast diagnose {evidence.stream} --root {root}"
    try:
        overview = overview_of(collect(place.checkpoint), spark=guard.spark)
    except HoldfastError:
        return look
    case = Case(
        checkpoint=overview.checkpoint, overview=overview, stream=evidence, root=place.plan_root
    )
    blocking = [
        each
        for each in judge(case, own_catalogue(case)).findings
        if each.severity is Severity.BLOCKS_RESTART and each.confidence is Confidence.CERTAIN
    ]
    if not blocking:
        return look
    first = blocking[0]
    return f"{first.code} {first.name}. What to do ({first.goal}): {first.how}"


def _standing(evidence: StreamEvidence, predicted: RunsAgain, accepted: Accepted) -> str:
    """Say whether a pending batch is in the sink already."""
    holding = [
        sink.display_name
        for sink in evidence.sinks
        if predicted.batch_id in (sink.last_batch, accepted.last_batch(sink.sink))
    ]
    if not evidence.sinks:
        return "whether it arrived is not known"
    if not holding:
        return "not in the sink yet"
    if len(holding) < len(evidence.sinks):
        return f"already in {' and '.join(holding)}: only the others get it"
    drained = " and drained" if evidence.checkpoint.state else ""
    return f"already in {' and '.join(holding)}: will be skipped{drained}"
