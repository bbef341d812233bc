"""Kafka records that are gone, or soon will be."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.kafka_topics import (
    Place,
    follows_from,
    kafka_sources,
    name_of,
    places_where,
    planned_partitions,
    tell_places,
)
from holdfast.rules.rule import Finding, rule
from holdfast.sources.kafka.found import KafkaPartition
from holdfast.sources.kind import Amount
from holdfast.wording import count, duration


@rule("HF320", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.BACKFILL)
def kafka_records_expired(case: Case) -> Iterator[Finding]:
    """Kafka has deleted records that the checkpoint still needs."""
    for source in kafka_sources(case):
        gone = places_where(source, lambda place: place[1].expired > 0)
        if not gone or source.fail_on_data_loss is False:
            continue
        number = sum(each.expired for _, each in gone)
        told = tell_places(gone, lambda each: f"{each.needed} to {(each.earliest or 0) - 1}")
        yield kafka_records_expired.find(
            what=(
                f"Kafka has deleted {count(number, 'record')} that the checkpoint needs next: "
                f"{told}. Spark fails in its first batch. With failOnDataLoss=false it starts, and "
                "these records are lost."
            ),
            how=(
                "Raise the retention of the topic. Load the missing range from another copy, if "
                "there is one, then start once with failOnDataLoss=false."
            ),
            accepting=(
                "Spark starts and fails, or, with failOnDataLoss=false, loses "
                f"{count(number, 'record')}"
            ),
            amount=Amount(number=number, unit="record"),
            follows_from=follows_from(case, source),
        )


@rule("HF321", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.BACKFILL)
def kafka_loss_ignored(case: Case) -> Iterator[Finding]:
    """Kafka lacks what the checkpoint needs, and `failOnDataLoss=false` hides it."""
    for source in kafka_sources(case):
        if source.fail_on_data_loss is not False:
            continue
        gone = places_where(source, _is_hidden)
        if not gone:
            continue
        number = sum(_lost(each) for _, each in gone)
        is_exact = not any(each.is_gone for _, each in gone)
        lost = count(number, "record") if is_exact else "an unknown number of records"
        yield kafka_loss_ignored.find(
            what=(
                f"Kafka lacks what the checkpoint needs next, and failOnDataLoss=false hides it: "
                f"{tell_places(gone, _tell)}. Spark starts, and {lost} never reach the sink."
            ),
            how=(
                "Load the missing range from another copy, or from the new topic, beside the "
                "stream. Then set failOnDataLoss back to true."
            ),
            accepting=f"Spark starts, and {lost} are lost",
            amount=Amount(number=number, unit="record") if is_exact else None,
            follows_from=follows_from(case, source),
        )


def _is_hidden(place: Place) -> bool:
    """Return whether Spark passes over something. It fails without a topic that the query names."""
    topic, each = place
    is_fatal = not topic.is_there and topic.is_subscribed is True
    return _lost(each) > 0 or (each.is_gone and not is_fatal and topic.is_subscribed is not False)


def _lost(each: KafkaPartition) -> int:
    """Return how many records Spark passes over."""
    if each.is_shorter and each.latest is not None and each.earliest is not None:
        return each.latest - each.earliest
    return each.expired


def _tell(each: KafkaPartition) -> str:
    if each.is_gone:
        return f"gone, needed from {each.needed}"
    if each.is_shorter:
        return f"ends at {each.latest}, needed from {each.needed}"
    return f"begins at {each.earliest}, needed from {each.needed}"


_SOON = timedelta(days=1)


@rule("HF322", Severity.RISK, Confidence.CERTAIN, Effect.NONE, Goal.RESUME)
def kafka_records_expire_soon(case: Case) -> Iterator[Finding]:
    """Kafka will delete records that the checkpoint still needs within a day."""
    for source in kafka_sources(case):
        if source.has_lost:
            continue
        for topic in source.topics:
            date = topic.expires_at
            if date is None or date - case.now >= _SOON:
                continue
            kept = duration(timedelta(milliseconds=topic.retention_ms or 0))
            left = date - case.now
            when = f"in {duration(left)}" if left > timedelta(0) else "at any time from now"
            yield kafka_records_expire_soon.find(
                what=(
                    f"{topic.name} keeps records for {kept}, and Kafka may delete the oldest one "
                    f"that the checkpoint still needs {when}. A start after that fails or loses it."
                ),
                how="Start the stream before then, or raise retention.ms of the topic first.",
                follows_from=follows_from(case, source),
            )


@rule("HF328", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESUME)
def kafka_added_partition_expired(case: Case) -> Iterator[Finding]:
    """A partition that is new to the checkpoint does not begin at offset 0."""
    for source in kafka_sources(case):
        if source.fail_on_data_loss is False:
            continue
        late = places_where(source, _is_added_late)
        # Batch 0 began where its source says; only a later entry shows that one was added.
        begun = planned_partitions(case) if late and case.newest_planned == 0 else set()
        added = [place for place in late if name_of(place) not in begun]
        if not added:
            continue
        told = tell_places(added, lambda each: f"begins at {each.earliest}")
        yield kafka_added_partition_expired.find(
            what=(
                f"The checkpoint does not name partitions that do not begin at offset 0 any more: "
                f"{told}. Spark takes that for lost data and fails."
            ),
            how=(
                "Give an old topic a stream of its own, or start once with failOnDataLoss=false "
                "when the deleted records are not needed."
            ),
            accepting=(
                "Spark starts and fails, or, with failOnDataLoss=false, reads what is left of "
                "these partitions"
            ),
            follows_from=follows_from(case, source),
        )


def _is_added_late(place: Place) -> bool:
    topic, each = place
    is_read = topic.is_subscribed is True if topic.is_new else topic.is_subscribed is not False
    return is_read and each.needed is None and (each.earliest or 0) > 0
