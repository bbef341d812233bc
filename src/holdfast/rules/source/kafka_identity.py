"""Kafka topics that are other ones than the checkpoint knows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import KEEP, backfilling, reset_advice
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
from holdfast.sources.kafka.found import KafkaPartition, KafkaSource
from holdfast.sources.kind import Amount
from holdfast.wording import count


@rule("HF323", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESET)
def kafka_topic_shorter(case: Case) -> Iterator[Finding]:
    """A Kafka topic ends before the offset that the checkpoint needs next."""
    for source in kafka_sources(case):
        shorter = places_where(source, lambda place: place[1].is_shorter)
        if not shorter or source.fail_on_data_loss is False:
            continue
        number = sum((each.latest or 0) - (each.earliest or 0) for _, each in shorter)
        told = tell_places(
            shorter, lambda each: f"ends at {each.latest}, needed from {each.needed}"
        )
        is_known = any(topic.is_recreated for topic, _ in shorter)
        why = "The topic was created again since the last guarded run. " if is_known else ""
        yield kafka_topic_shorter.find(
            what=(
                f"Kafka ends before the offset that the checkpoint needs next: {told}. {why}Spark "
                f"fails. With failOnDataLoss=false it starts, and passes over the "
                f"{count(number, 'record')} that are there now."
            ),
            how=(
                "Check the bootstrap servers. If the topic was created again, "
                f"{reset_advice(case, output=KEEP)} and begin the new topic at its first offset."
            ),
            accepting=(
                "Spark starts and fails, or, with failOnDataLoss=false, loses "
                f"{count(number, 'record')}"
            ),
            amount=Amount(number=number, unit="record"),
            follows_from=follows_from(case, source),
        )


@rule("HF324", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESET)
def kafka_topic_recreated(case: Case) -> Iterator[Finding]:
    """A Kafka topic was created again, and is already longer than the checkpoint's offset."""
    for source in kafka_sources(case):
        yield from _ask(case, source)
        passed = places_where(source, _is_past)
        is_noticed = source.fail_on_data_loss is not False and source.is_refused
        if not passed or is_noticed:
            continue
        number = sum(map(_skipped, (each for _, each in passed)))
        told = tell_places(passed, lambda each: f"{each.earliest} to {(each.needed or 0) - 1}")
        yield kafka_topic_recreated.find(
            what=(
                "The topic was deleted and created again since the last guarded run. Spark does "
                f"not notice, whatever failOnDataLoss says: it goes on at the old offset and never "
                f"reads {count(number, 'record')} of the new topic: {told}."
            ),
            how=(
                f"To begin the new topic at its first offset, {reset_advice(case, output=KEEP)}. "
                "Or load these offsets of the new topic beside the stream."
            ),
            accepting=f"Spark goes on at the old offset, and {count(number, 'record')} are lost",
            amount=Amount(number=number, unit="record"),
            follows_from=(*follows_from(case, source), "the topic ids of the last run"),
        )


def _ask(case: Case, source: KafkaSource) -> Iterator[Finding]:
    """Yield that it is not known, where the ids of the last run could not be read."""
    passed = places_where(source, lambda place: _skipped(place[1]) > 0)
    if source.ids_unread is None or not passed:
        return
    found = kafka_topic_recreated.find(
        what=(
            f"Whether {source.display_name} was deleted and created again since the last guarded "
            f"run is not known: the topic ids of that run could not be read. {source.ids_unread}"
        ),
        how=(
            "Restore the run from a backup of the record. Or find out when the topic was created; "
            "if that was before the last run, start anyway: the new run records the ids again."
        ),
        accepting=(
            "if the topic was created again, Spark goes on at the old offset, and the records "
            "before it are lost"
        ),
        follows_from=(*follows_from(case, source), "the runs in the record"),
    )
    # It decides on no loss: that is what nobody knows.
    yield replace(found, confidence=Confidence.UNKNOWN, effect=Effect.NONE, goal=Goal.NONE)


def _is_past(place: Place) -> bool:
    topic, each = place
    return topic.is_recreated and not each.is_shorter and _skipped(each) > 0


def _skipped(each: KafkaPartition) -> int:
    if each.needed is None or each.earliest is None:
        return 0
    return max(each.needed - each.earliest, 0)


_SLACK_MS = 10 * 60_000


@rule("HF325", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.RESET)
def kafka_topic_seems_recreated(case: Case) -> Iterator[Finding]:
    """A record that was read long ago is newer than the batch that read it."""
    newest = [each for each in case.checkpoint.offsets.values() if isinstance(each, OffsetEntry)]
    planned = [each.metadata.batch_timestamp_ms for each in newest if each.metadata]
    if not planned:
        return
    latest_possible = max(planned) + _SLACK_MS

    def is_impossible(place: Place) -> bool:
        topic, each = place
        is_known = topic.topic_id is not None and topic.recorded_id is not None
        return not is_known and (each.last_read_ms or 0) > latest_possible

    for source in kafka_sources(case):
        found = places_where(source, is_impossible)
        if not found:
            continue
        number = sum((each.needed or 0) - (each.earliest or 0) for _, each in found)
        told = tell_places(found, lambda each: f"{each.earliest} to {(each.needed or 0) - 1}")
        yield kafka_topic_seems_recreated.find(
            what=(
                "Kafka holds, before the checkpoint's offset, records that are newer than the "
                "newest batch, so no batch has read them. The topic was probably created again. "
                f"Spark then never reads up to {count(number, 'record')}: {told}."
            ),
            how=(
                "Compare the first records of the topic with the sink before you start the stream. "
                f"If the topic was created again, {reset_advice(case, output=KEEP)}."
            ),
            amount=Amount(number=number, unit="record"),
            follows_from=follows_from(case, source),
        )


@rule("HF326", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESET)
def kafka_topic_gone(case: Case) -> Iterator[Finding]:
    """A Kafka topic or partition that the checkpoint names does not exist any more."""
    for source in kafka_sources(case):
        gone = places_where(source, partial(_is_fatal, source))
        if not gone:
            continue
        topics = sorted({topic.name for topic, _ in gone if not topic.is_there})
        named = f"the topic {topics[0]}" if len(topics) == 1 else f"{len(topics):,} topics"
        what = f"does not have {named} any more" if topics else "has fewer partitions than before"
        told = tell_places(gone, lambda each: f"needed from {each.needed}")
        yield kafka_topic_gone.find(
            what=f"The broker {what}, and the checkpoint needs it: {told}. Spark fails.",
            how=(
                "Check the bootstrap servers. If the topic was deleted or created again, "
                f"{reset_advice(case, output=KEEP)} and the topics that exist now."
            ),
            accepting=(
                "Spark starts and fails, or, where failOnDataLoss=false lets it start, what was "
                "not read of these partitions is lost"
            ),
            follows_from=follows_from(case, source),
        )


def _is_fatal(source: KafkaSource, place: Place) -> bool:
    topic, each = place
    if not each.is_gone or topic.is_subscribed is False:
        return False
    is_named = not topic.is_there and topic.is_subscribed is True
    return is_named or source.fail_on_data_loss is not False


@rule("HF327", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def kafka_topic_added(case: Case) -> Iterator[Finding]:
    """A Kafka topic was added to the query, and Spark reads all of it."""
    for source in kafka_sources(case):
        added = places_where(source, _is_added)
        named = planned_partitions(case) if added else set()
        added = [place for place in added if name_of(place) not in named]
        number = sum((each.latest or 0) - (each.earliest or 0) for _, each in added)
        if number <= 0:
            continue
        names = sorted({topic.name for topic, _ in added})
        shown = names[0] if len(names) == 1 else f"{len(names):,} topics, such as {names[0]}"
        yield kafka_topic_added.find(
            what=(
                f"The checkpoint does not name {shown}. Spark reads it from its first offset, "
                f"whatever startingOffsets says: {count(number, 'record')}."
            ),
            how=(
                "If the old records are not wanted, give the topic a stream of its own; else limit "
                "the first batch with maxOffsetsPerTrigger."
            ),
            amount=Amount(number=number, unit="record"),
            follows_from=follows_from(case, source),
        )


def _is_added(place: Place) -> bool:
    topic, each = place
    return topic.is_new and topic.is_subscribed is True and each.latest is not None


_SHOWN = 60


@rule("HF330", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def kafka_starting_offsets_ignored(case: Case) -> Iterator[Finding]:
    """`startingOffsets` was changed, and Spark ignores it."""
    for source in kafka_sources(case):
        now, before = source.starting_offsets, source.starting_before
        if now is None or now == before:
            continue
        load = backfilling(case, otherwise="load it with a bounded job")
        shown = now if len(now) <= _SHOWN else f"{now[:_SHOWN]}…"
        yield kafka_starting_offsets_ignored.find(
            what=(
                f"startingOffsets is {shown} now and was {_tell(before)} in the last run. Spark "
                f"ignores it: the checkpoint says where {source.display_name} goes on."
            ),
            how=f"To begin elsewhere, reset the stream. To read a range, {load}.",
            follows_from=(f"offsets/{case.newest_planned}", "the contract of the last run"),
        )


def _tell(option: str | None) -> str:
    if option is None:
        return "not set"
    return option if len(option) <= _SHOWN else f"{option[:_SHOWN]}…"
