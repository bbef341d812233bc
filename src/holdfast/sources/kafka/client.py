"""Asks a Kafka broker through confluent-kafka, which is an extra: imported when it is used.

Its errors are told by their name alone: their text, and the file with a client's properties, can
hold passwords.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from holdfast import clock
from holdfast.confinement import NO_CONNECTIONS, permits_connections
from holdfast.sources.kafka.found import kafka_query
from holdfast.sources.kafka.kind import KafkaOffset
from holdfast.sources.kafka.probe import (
    CannotAskError,
    Place,
    RecordTime,
    TopicAnswer,
    probe_kafka,
    read_retention,
)
from holdfast.sources.probe import NotProbed, Question, SourceProbe

ANSWER_S = 5.0
"""How long one question may take."""
_MOST_READ = 200
"""Of so many partitions a record is read; of the others its time is not known."""
_PROPERTY = re.compile(r"\s*([A-Za-z][A-Za-z0-9._-]*)\s*[=:]\s*(.*?)\s*")
_QUIET = {"log_level": "0", "client.id": "holdfast-probe"}
_READING = {
    "group.id": "holdfast-probe",  # never joined: partitions are assigned by hand
    "enable.auto.commit": "false",
    "auto.offset.reset": "error",
    "enable.partition.eof": "false",
    "max.partition.fetch.bytes": "65536",
    "queued.max.messages.kbytes": "4096",
}
_SERVERS = "kafka.bootstrap.servers"


def ask_broker(question: Question) -> SourceProbe:
    """Ask the broker that options name what it still has."""
    source, needed, looks = question.source, question.needed, question.looks
    assert isinstance(needed, KafkaOffset)
    servers = question.where(_SERVERS, "its bootstrap servers")
    if isinstance(servers, SourceProbe):
        return servers
    client = open_kafka(servers, looks.kafka_config)
    if isinstance(client, NotProbed):
        return question.not_probed(client.why)
    kept, ids = looks.kept(source), looks.topic_ids
    return probe_kafka(
        source,
        needed,
        client,
        recorded=ids if isinstance(ids, str) else ids.get(source, {}),
        query=kafka_query(kept) if kept else None,
    )


def open_kafka(servers: str, properties: str | None = None) -> ConfluentClient | NotProbed:
    """Return a client of a cluster; nothing is asked yet.

    Args:
        servers: The cluster's bootstrap servers.
        properties: A file with properties of a librdkafka client, one `name=value` per line; what
            is in it is never shown.
    """
    if not permits_connections():
        return NotProbed(why=NO_CONNECTIONS)
    try:
        import confluent_kafka  # noqa: F401 - an extra
    except ImportError:
        return NotProbed(
            why="the Python module 'confluent_kafka' is not installed; install it with: "
            "pip install 'holdfast-spark[kafka]'"
        )
    settings = {} if properties is None else _read_properties(properties)
    if settings is None:
        return NotProbed(why=f"the Kafka properties file {properties} cannot be read")
    return ConfluentClient({**settings, "bootstrap.servers": servers, **_QUIET})


class ConfluentClient:
    """Asks with settings of a librdkafka client."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Keep the settings; nothing is asked yet."""
        self._settings: dict[str, str | int | float | bool] = {**settings}

    def __repr__(self) -> str:
        return "ConfluentClient(…)"  # its settings can hold a password

    def describe(self, topics: Iterable[str]) -> Mapping[str, TopicAnswer]:
        """Return what the broker has; a topic that does not exist is left out.

        Raises:
            CannotAskError: The broker did not answer, or not to us.
        """
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            admin = AdminClient(self._settings)
            found = _describe_topics(admin, list(topics))
            ranges = _list_offsets(admin, found)
            kept = _read_retention(admin, list(found))
        except KafkaException as error:
            raise CannotAskError(f"the broker did not answer ({_name(error)})") from None
        return {
            name: TopicAnswer(
                topic_id=topic_id,
                ranges=ranges[name],
                retention_ms=kept.get(name, {}).get("retention.ms"),
                retention_bytes=kept.get(name, {}).get("retention.bytes"),
            )
            for name, (topic_id, _) in found.items()
        }

    def times(self, offsets: Mapping[Place, int]) -> Mapping[Place, RecordTime]:
        """Return the first record from each offset on, as far as they can be read in time."""
        from confluent_kafka import (
            Consumer,
            KafkaException,
            TopicPartition,
        )

        wanted = dict(sorted(offsets.items())[:_MOST_READ])
        found: dict[Place, RecordTime] = {}
        try:
            consumer = Consumer({**self._settings, **_READING})
        except KafkaException:
            return found
        try:
            consumer.assign([TopicPartition(*place, at) for place, at in wanted.items()])
            until = clock.monotonic() + ANSWER_S
            while len(found) < len(wanted) and (left := until - clock.monotonic()) > 0:
                record = consumer.poll(left)
                if record is None or record.error():
                    continue
                place = (str(record.topic()), int(record.partition() or 0))
                if place not in found:
                    at, (_, time_ms) = int(record.offset() or 0), record.timestamp()
                    found[place] = RecordTime(offset=at, timestamp_ms=int(time_ms))
                    consumer.pause([TopicPartition(*place)])
        except KafkaException:
            return found
        finally:
            consumer.close()
        return found


def _describe_topics(admin: Any, names: list[str]) -> dict[str, tuple[str | None, int]]:
    """Return the id and the number of partitions of every topic that exists."""
    from confluent_kafka import (
        KafkaError,
        KafkaException,
        TopicCollection,
    )

    if not names:
        return {}
    found: dict[str, tuple[str | None, int]] = {}
    asked = admin.describe_topics(TopicCollection(names), request_timeout=ANSWER_S)
    for name, future in asked.items():
        try:
            answer = future.result(timeout=ANSWER_S + 1)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise
            continue
        except TimeoutError:
            raise CannotAskError(f"the broker did not answer within {ANSWER_S:.0f} s") from None
        found[name] = (read_topic_id(answer.topic_id), len(answer.partitions))
    return found


def read_topic_id(given: object) -> str | None:
    """Return a topic id as Kafka's own client writes it: librdkafka uses another alphabet."""
    return None if given is None else str(given).replace("+", "-").replace("/", "_")


def _list_offsets(
    admin: Any, topics: Mapping[str, tuple[str | None, int]]
) -> dict[str, dict[int, tuple[int, int]]]:
    from confluent_kafka import TopicPartition
    from confluent_kafka import admin as module

    api: Any = module  # partly without types
    places = [(name, each) for name, (_, count) in topics.items() for each in range(count)]
    ends: list[dict[Place, int]] = []
    for spec in (api.OffsetSpec.earliest(), api.OffsetSpec.latest()) if places else ():
        asked = admin.list_offsets(
            {TopicPartition(*place): spec for place in places}, request_timeout=ANSWER_S
        )
        try:
            ends.append(
                {
                    (each.topic, each.partition): int(future.result(ANSWER_S + 1).offset)
                    for each, future in asked.items()
                }
            )
        except TimeoutError:
            raise CannotAskError(f"the broker did not answer within {ANSWER_S:.0f} s") from None
    found: dict[str, dict[int, tuple[int, int]]] = {name: {} for name in topics}
    for name, number in places:
        found[name][number] = (ends[0][name, number], ends[1][name, number])
    return found


def _read_retention(admin: Any, topics: list[str]) -> dict[str, dict[str, int]]:
    """Return how long topics keep records; a topic whose settings are hidden is left out."""
    from confluent_kafka import KafkaException
    from confluent_kafka import admin as module

    if not topics:
        return {}
    api: Any = module  # partly without types
    resources = [api.ConfigResource(api.ResourceType.TOPIC, name) for name in topics]
    found = {}
    for resource, future in admin.describe_configs(resources, request_timeout=ANSWER_S).items():
        try:
            settings = {name: each.value for name, each in future.result(ANSWER_S + 1).items()}
        except (KafkaException, TimeoutError):
            continue
        found[resource.name] = read_retention(settings)
    return found


def _read_properties(file: str) -> dict[str, str] | None:
    try:
        text = Path(file).read_text()
    except (OSError, UnicodeDecodeError):
        return None
    matched = (
        _PROPERTY.fullmatch(line)
        for line in text.splitlines()
        if line.strip() and not line.lstrip().startswith(("#", "!"))
    )
    return {each[1]: each[2] for each in matched if each}


def _name(error: Any) -> str:
    """Return the name of an error of librdkafka, without its text."""
    inner = error.args[0] if error.args else None
    name = getattr(inner, "name", None)
    told = str(name()) if callable(name) else type(error).__name__
    # Java's `sasl.jaas.config` is the usual one.
    return f"{told}: a property is not one of librdkafka's" if told == "_INVALID_ARG" else told
