"""Kafka offsets, as far as the checkpoint alone tells."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import EARLIEST, backfilling
from holdfast.rules.rule import Finding, rule
from holdfast.sources.kafka.found import KafkaSource
from holdfast.sources.kafka.kind import KafkaOffset
from holdfast.sources.registry import offsets_of
from holdfast.wording import duration

_MOST_TEXT = 500_000

_SHOWN = 3


@rule("HF329", Severity.RISK, Confidence.CERTAIN, Effect.NONE, Goal.BACKFILL)
def kafka_offsets_went_back(case: Case) -> Iterator[Finding]:
    """Kafka offsets in the checkpoint went back, or a partition vanished from it."""
    after: dict[str, KafkaOffset] = {}
    seen_text = 0
    for batch in sorted(case.checkpoint.offsets, reverse=True):
        entry = case.checkpoint.offsets[batch]
        before = offsets_of(entry, KafkaOffset) if isinstance(entry, OffsetEntry) else {}
        changes = [
            change
            for source, old in before.items()
            if source in after and batch + 1 in case.checkpoint.offsets
            for change in _compare(old, after[source])
        ]
        if changes:
            yield _finding(case, changes, before=batch)
        if isinstance(entry, OffsetEntry):
            seen_text += sum(len(each.text or "") for each in entry.offsets)
        if seen_text > _MOST_TEXT and after:
            return
        after = before


def _finding(case: Case, changes: list[str], *, before: int) -> Finding:
    more = len(changes) - _SHOWN
    load = backfilling(case, start=EARLIEST, otherwise="use a bounded job beside the stream")
    told = ", ".join(changes[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    return kafka_offsets_went_back.find(
        what=(
            f"From batch {before} to {before + 1} the Kafka offsets went back: {told}. Spark went "
            "on with failOnDataLoss=false, so records were passed over; a restart does not read "
            "them either."
        ),
        how=(
            f"Find out what happened to the topic then. To load what is missing, {load}. Set "
            "failOnDataLoss back to true."
        ),
        follows_from=(f"offsets/{before}", f"offsets/{before + 1}"),
    )


def _compare(old: KafkaOffset, new: KafkaOffset) -> Iterator[str]:
    if old == new:
        return
    for topic, offsets in old.partitions.items():
        found = new.partitions.get(topic, {})
        for number, offset in offsets.items():
            end = found.get(number)
            if end is None:
                yield f"{topic}-{number} is not there any more"
            elif end < offset:
                yield f"{topic}-{number} from {offset} to {end}"


_KEPT = timedelta(days=7)


@rule("HF331", Severity.NOTE, Confidence.LIKELY, Effect.NONE, Goal.RESUME)
def kafka_position_old(case: Case) -> Iterator[Finding]:
    """The newest batch is older than Kafka keeps records by default."""
    newest = (
        case.checkpoint.offsets[max(case.checkpoint.offsets)] if case.checkpoint.offsets else None
    )
    if not isinstance(newest, OffsetEntry) or newest.metadata is None:
        return
    age = _age(newest.metadata.batch_timestamp_ms, case.now)
    if age is None or age <= _KEPT:
        return
    asked = {each.source for each in case.sources if isinstance(each.found, KafkaSource)}
    read = offsets_of(newest, KafkaOffset)
    for each in newest.offsets:
        if each.source in asked or each.source not in read:
            continue
        yield kafka_position_old.find(
            what=(
                f"The newest batch was planned {duration(age)} ago, and Kafka keeps records "
                f"for 7 days by default. If those that source {each.source} needs are gone, Spark "
                "fails, or loses them with failOnDataLoss=false."
            ),
            how="Ask the source before you start the stream: holdfast diagnose --probe.",
            follows_from=(f"offsets/{newest.batch_id}",),
        )


def _age(planned_ms: int, now: datetime) -> timedelta | None:
    try:
        return now - datetime.fromtimestamp(planned_ms / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None
