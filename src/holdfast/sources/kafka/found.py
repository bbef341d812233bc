"""What a Kafka source can still give, compared with what the checkpoint needs next.

Spark keeps the next offset of each partition, and nothing else: no topic id and no time. So a topic
that was deleted and created again is the same topic to Spark as soon as it is long enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec

from holdfast.sources.probe import Found

_FOREVER_MS = 1000 * 365 * 24 * 3_600_000
"""A thousand years: some write the largest number instead of -1."""


class KafkaPartition(msgspec.Struct, frozen=True, kw_only=True):
    """One partition: what the checkpoint needs of it, and what the broker has."""

    number: int
    needed: int | None = None
    """The next offset that Spark reads; None when the checkpoint does not name the partition."""
    earliest: int | None = None
    """The first offset that the broker still has; None when it has no such partition."""
    latest: int | None = None
    """The offset after the last record; None when the broker has no such partition."""
    oldest_needed_ms: int | None = None
    """The time of the oldest record that is needed and still there; None when that is not known."""
    last_read_ms: int | None = None
    """The time of the record before `needed`, which was read last; None when not known."""

    @property
    def is_gone(self) -> bool:
        """Whether the checkpoint names it and the broker does not have it."""
        return self.needed is not None and self.latest is None

    @property
    def expired(self) -> int:
        """How many offsets that Spark needs are not there any more."""
        if self.needed is None or self.earliest is None or self.is_shorter:
            return 0
        return max(self.earliest - self.needed, 0)

    @property
    def is_shorter(self) -> bool:
        """Whether it ends before the offset that Spark needs next."""
        return self.needed is not None and self.latest is not None and self.latest < self.needed

    @property
    def is_waiting(self) -> bool:
        """Whether there are records that Spark has not read."""
        return self.needed is not None and self.latest is not None and self.needed < self.latest


class KafkaTopic(msgspec.Struct, frozen=True, kw_only=True):
    """One topic."""

    name: str
    is_there: bool = True
    topic_id: str | None = None
    """The broker's id of it; None when the topic is gone, or the broker gives none."""
    recorded_id: str | None = None
    """Its id at the last guarded run that recorded one; None when there is none."""
    retention_ms: int | None = None
    """How long records are kept; negative without a limit, None when that is not known."""
    retention_bytes: int | None = None
    """How much of a partition is kept; negative without a limit, None when not known."""
    is_subscribed: bool | None = None
    """Whether the query names it; None when the query is not known, or names a pattern."""
    partitions: tuple[KafkaPartition, ...] = ()

    @property
    def is_waiting(self) -> bool:
        """Whether it has records that Spark has not read."""
        return any(each.is_waiting for each in self.partitions)

    @property
    def keeps_forever(self) -> bool:
        """Whether it deletes nothing by its age."""
        return self.retention_ms is not None and not 0 <= self.retention_ms < _FOREVER_MS

    @property
    def is_new(self) -> bool:
        """Whether the checkpoint does not know it."""
        return all(each.needed is None for each in self.partitions)

    @property
    def is_recreated(self) -> bool:
        """Whether it has another id than the one that was recorded."""
        known = None not in (self.topic_id, self.recorded_id)
        return known and self.topic_id != self.recorded_id

    @property
    def expires_at(self) -> datetime | None:
        """When the broker may delete the first record that is needed; None when not known.

        Kafka deletes whole segments, by the newest record in each. So it never deletes earlier,
        unless the topic also has a limit by size.
        """
        waiting = [each for each in self.partitions if each.is_waiting]
        times = [each.oldest_needed_ms for each in waiting if each.oldest_needed_ms is not None]
        if not times or len(times) < len(waiting):
            return None
        if self.retention_ms is None or self.keeps_forever:
            return None
        return _moment(min(times) + self.retention_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource(Found):
    """What was found."""

    display_name: str
    """As people know it: `kafka sensors`."""
    topics: tuple[KafkaTopic, ...] = ()
    fail_on_data_loss: bool | None = None
    """What the query says; None when the query is not known. Spark's default is true."""
    starting_offsets: str | None = None
    """The option of the query; None when it has none, or is not known."""
    starting_before: str | None = None
    """The option in the last run; None when it had none, or is not known."""
    ids_unread: str | None = None
    """Why the topic ids of the last run could not be read; None when they were, or are not there.
    Without them a topic that was created again cannot be told from the old one."""

    @property
    def not_looked_at(self) -> tuple[tuple[str, str], ...]:
        """The topic ids of the last run, when they could not be read."""
        why = self.ids_unread
        return () if why is None else (("the topic ids of the last run", why),)

    @property
    def topic_ids(self) -> dict[str, str]:
        """The id of each topic that has one."""
        return {each.name: each.topic_id for each in self.topics if each.topic_id is not None}

    @property
    def has_lost(self) -> bool:
        """Whether something that the checkpoint needs is gone."""
        return any(map(_has_lost, self.topics))

    @property
    def is_refused(self) -> bool:
        """Whether Spark fails with `failOnDataLoss=true`: what it compares does not fit."""
        return any(
            each.is_gone or each.is_shorter or each.expired
            for topic in self.topics
            for each in topic.partitions
        )

    def lossless_for(self, now: datetime) -> timedelta | None:
        """Return for how long a resume still finds everything; None when that is not known.

        Zero when something is gone. Something is waited for in every topic that has a date; one
        without a date, of which records are needed, makes the answer unknown.
        """
        if self.has_lost:
            return timedelta(0)
        limited = [each for each in self.topics if each.is_waiting and not each.keeps_forever]
        dates = [each.expires_at for each in limited]
        known = [each for each in dates if each is not None]
        if not known or len(known) < len(dates):
            return None
        return max(min(known) - now, timedelta(0))


class KafkaQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What the options of a query say of how it reads Kafka; None for what is not known."""

    subscribed: frozenset[str] | None = None
    fail_on_data_loss: bool | None = None
    starting_offsets: str | None = None
    starting_before: str | None = None


def kafka_query(
    options: Mapping[str, str] | None, before: Mapping[str, str] | None = None
) -> KafkaQuery:
    """Return what options say; those that a contract keeps are enough.

    Args:
        options: Of the source in the query that is to be started; None when they are not known.
        before: Of the source in the last run; None when they are not known.
    """
    if options is None:
        return KafkaQuery()
    names = {name.strip() for name in options.get("subscribe", "").split(",")} - {""}
    before = options if before is None else before
    return KafkaQuery(
        subscribed=frozenset(names) if names else None,
        fail_on_data_loss=options.get("failOnDataLoss", "true").lower() != "false",
        starting_offsets=options.get("startingOffsets"),
        starting_before=before.get("startingOffsets"),
    )


def _has_lost(topic: KafkaTopic) -> bool:
    return any(
        each.is_gone
        or each.expired
        or each.is_shorter
        or (topic.is_recreated and each.needed not in (None, each.earliest))
        for each in topic.partitions
    )


def _moment(milliseconds: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return None
