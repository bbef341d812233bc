"""A Kafka cluster as its administrator's client sees it: topics, their ids, ends and settings."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec

from holdfast import clock
from holdfast.sinks.kafka.failures import NO_TOPIC, name_of, timed_out
from holdfast.sinks.kafka.settings import Settings, client_settings

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka.admin import AdminClient

    from holdfast.sinks.secrets import Secret

Answer = TypeVar("Answer")

ANSWER_S = 10.0
"""How long one question may take."""
_PAUSE_S = 0.05
_NOT_YET = NO_TOPIC | {"LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION"}
"""What brokers answer that have not heard of a new topic yet."""
LEDGER_SETTINGS = {
    "cleanup.policy": "compact",
    # What a row has replaced is removed within hours, and not when a segment has 1 GiB.
    "segment.ms": "3600000",
    "min.cleanable.dirty.ratio": "0.1",
}
"""Of a ledger topic that Holdfast creates."""


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that exists."""

    name: str
    topic_id: str | None
    """None where the broker gives topics no id: before Kafka 2.8."""
    partitions: tuple[int, ...]


class Cluster:
    """A cluster; nothing is connected until something is asked."""

    def __init__(self, servers: Secret) -> None:
        """Connect to nothing yet."""
        self._servers = servers

    @cached_property
    def settings(self) -> Settings:
        """The settings of every client."""
        return client_settings(self._servers)

    @cached_property
    def _admin(self) -> AdminClient:
        from confluent_kafka.admin import AdminClient

        return AdminClient(self.settings)  # type: ignore[arg-type] # a logger is one too

    def find(self, *names: str) -> dict[str, Topic]:
        """Return the topics that exist, by their names.

        Raises:
            KafkaException: The cluster did not answer.
        """
        from confluent_kafka import KafkaException, TopicCollection

        found: dict[str, Topic] = {}
        asked = self._admin.describe_topics(TopicCollection(list(names)), request_timeout=ANSWER_S)
        for name, future in asked.items():
            try:
                answer = _answer(future)
            except KafkaException as error:
                if name_of(error) not in NO_TOPIC:
                    raise
                continue
            given = answer.topic_id
            found[name] = Topic(
                name=name,
                topic_id=None if given is None else str(given),
                partitions=tuple(sorted(each.id for each in answer.partitions)),
            )
        return found

    def ends(self, topic: Topic) -> dict[int, int]:
        """Return where each partition ends, with what is not committed."""
        from confluent_kafka import IsolationLevel

        return self._offsets(topic, "latest", IsolationLevel.READ_UNCOMMITTED)

    def stable_ends(self, topic: Topic) -> dict[int, int]:
        """Return how far a consumer can read that waits for transactions."""
        from confluent_kafka import IsolationLevel

        return self._offsets(topic, "latest", IsolationLevel.READ_COMMITTED)

    def begins(self, topic: Topic) -> dict[int, int]:
        """Return the first offset that each partition still has."""
        from confluent_kafka import IsolationLevel

        return self._offsets(topic, "earliest", IsolationLevel.READ_UNCOMMITTED)

    def _offsets(self, topic: Topic, which: str, isolation: object) -> dict[int, int]:
        from confluent_kafka import TopicPartition
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

        spec = getattr(OffsetSpec, which)()
        asked = self._admin.list_offsets(
            {TopicPartition(topic.name, each): spec for each in topic.partitions},
            isolation_level=isolation,
            request_timeout=ANSWER_S,
        )
        return {each.partition: int(_answer(future).offset) for each, future in asked.items()}

    def settings_of(self, topic: str) -> Mapping[str, str] | None:
        """Return the settings of a topic; None when this client may not see them."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

        resource = ConfigResource(ResourceType.TOPIC, topic)
        (future,) = self._admin.describe_configs([resource], request_timeout=ANSWER_S).values()
        try:
            answer = _answer(future)
        except KafkaException as error:
            if name_of(error) != "TOPIC_AUTHORIZATION_FAILED":
                raise
            return None
        return {name: str(each.value) for name, each in answer.items()}

    def create_ledger(self, topic: str) -> None:
        """Create a ledger topic, unless it is there, and wait until the brokers know of it.

        Raises:
            KafkaException: It cannot be created.
        """
        from confluent_kafka import KafkaException
        from confluent_kafka.cimpl import NewTopic

        new = NewTopic(topic, num_partitions=1, replication_factor=-1, config=LEDGER_SETTINGS)
        (future,) = self._admin.create_topics([new], request_timeout=ANSWER_S).values()
        try:
            _answer(future)
        except KafkaException as error:
            if name_of(error) != "TOPIC_ALREADY_EXISTS":
                raise
        self._wait_for(topic)

    def _wait_for(self, topic: str) -> None:
        """Wait until a topic that was created can be described, and its ends asked for."""
        from confluent_kafka import KafkaException

        until = clock.monotonic() + ANSWER_S
        while True:
            try:
                found = self.find(topic)
                if topic in found:
                    self.settings_of(topic)
                    self.ends(found[topic])
                    return
            except KafkaException as error:
                if name_of(error) not in _NOT_YET:
                    raise
            if clock.monotonic() > until:
                raise timed_out()
            time.sleep(_PAUSE_S)

    def names(self) -> Iterable[str]:
        """Return the names of all topics that this client may see."""
        return self._admin.list_topics(timeout=ANSWER_S).topics

    def cluster_id(self) -> str:
        """Return the cluster's own id; every client of the cluster is given the same."""
        answer = _answer(self._admin.describe_cluster(request_timeout=ANSWER_S))
        return str(answer.cluster_id)

    def close(self) -> None:
        """Let the client go; the next question makes a new one."""
        self.__dict__.pop("_admin", None)
        self.__dict__.pop("settings", None)


def _answer(future: Future[Answer]) -> Answer:
    """Wait for an answer; librdkafka ends every question itself."""
    return future.result(timeout=2 * ANSWER_S)
