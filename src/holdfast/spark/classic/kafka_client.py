"""Asks a Kafka broker through the running session: with the connector's own client and options.

What a query reads with, it is asked with: SASL, TLS and login modules are already there. Options
stay in memory; an error is told by its class alone, because its text can hold a password.

Records are not read, so their times are not known here: a guarded start knows the ids of topics.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.sources.kafka.probe import (
    CannotAskError,
    Place,
    RecordTime,
    TopicAnswer,
    read_retention,
)
from holdfast.spark.classic.jvm import Java, jvm_of, text_or_none
from holdfast.spark.classic.plan import SOURCES, analysed, kind_of, options_of, walk_streaming
from holdfast.spark.errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ANSWER_S = 5.0
"""How long a start may wait for a broker, all questions together."""
_MOST_PARTITIONS = 2_000
"""Each costs some calls into the JVM, of a tenth of a millisecond."""
_KAFKA, _PREFIX = "kafka", "kafka."
_OWN = {
    "client.id": "holdfast-probe",
    "default.api.timeout.ms": "5000",
    "request.timeout.ms": "4000",
    "retries": "1",
}
"""Whatever the source says: a start must not wait longer."""
_OFFSET = re.compile(r"([A-Za-z0-9._-]+)-([0-9]+)=ListOffsetsResultInfo\(offset=(-?[0-9]+),")
"""In the text of a map of results: one call, whatever it holds."""
_SETTINGS = ("cleanup.policy", "retention.ms", "retention.bytes")


def find_kafka_clients(df: DataFrame) -> dict[int, SessionKafkaClient]:
    """Return a client for every Kafka source of a query, by its place in the query."""
    nodes = [node for node in walk_streaming(analysed(df)) if kind_of(node) in SOURCES]
    return {
        number: SessionKafkaClient(df.sparkSession, options_of(node))
        for number, node in enumerate(nodes)
        if kind_of(node) == "StreamingRelationV2" and str(node.sourceName()) == _KAFKA
    }


class SessionKafkaClient:
    """Asks as one source of a query would."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        """Keep the options of the source; nothing is asked yet."""
        self._jvm = jvm_of(spark)
        self._settings = {
            name.removeprefix(_PREFIX): value
            for name, value in options.items()
            if name.startswith(_PREFIX)
        }

    def __repr__(self) -> str:
        return "SessionKafkaClient(…)"  # its settings can hold a password

    def describe(self, topics: Iterable[str]) -> Mapping[str, TopicAnswer]:
        """Return what the broker has; a topic that does not exist is left out.

        Raises:
            CannotAskError: The broker did not answer in time, or not to us.
        """
        with _asking(), self._admin() as admin:
            asking = _Asking(self._jvm, admin)
            found = asking.topics(list(topics))
            ranges = asking.ranges({name: count for name, (_, count) in found.items()})
            return {
                name: TopicAnswer(
                    topic_id=topic_id,
                    ranges=ranges[name],
                    retention_ms=(kept := asking.retention(name)).get("retention.ms"),
                    retention_bytes=kept.get("retention.bytes"),
                )
                for name, (topic_id, _) in found.items()
            }

    def times(self, offsets: Mapping[Place, int]) -> Mapping[Place, RecordTime]:  # noqa: ARG002
        """Return nothing: a start reads no records."""
        return {}

    @contextmanager
    def _admin(self) -> Iterator[Java]:
        kind = self._jvm.org.apache.kafka.clients.admin.AdminClient
        if type(kind).__name__ != "JavaClass":
            raise CannotAskError("the session's class path has no Kafka client that can be called")
        settings = self._jvm.java.util.Properties()
        for name, value in {**self._settings, **_OWN}.items():
            settings.setProperty(name, value)
        admin = kind.create(settings)
        try:
            yield admin
        finally:
            admin.close(self._jvm.java.time.Duration.ofMillis(0))


class _Asking:
    """One conversation with a broker, all of it within `ANSWER_S`."""

    def __init__(self, jvm: Java, admin: Java) -> None:
        self._jvm, self._admin = jvm, admin
        self._until = clock.monotonic() + ANSWER_S

    def topics(self, names: list[str]) -> dict[str, tuple[str | None, int]]:
        """Return the id and the number of partitions of every topic that exists."""
        if not names:
            return {}
        answers = self._admin.describeTopics(self._list(names)).topicNameValues()
        found: dict[str, tuple[str | None, int]] = {}
        for name in names:
            try:
                answer = self._wait(answers.get(name))
            except spark_errors() as error:
                if _name_of(error) != "UnknownTopicOrPartitionException":
                    raise
                continue
            found[name] = (str(answer.topicId().toString()), int(answer.partitions().size()))
        return found

    def ranges(self, counts: Mapping[str, int]) -> dict[str, dict[int, tuple[int, int]]]:
        """Return the earliest and the latest offset of every partition."""
        total = sum(counts.values())
        if total > _MOST_PARTITIONS:
            raise CannotAskError(f"it has {total:,} partitions, and {_MOST_PARTITIONS:,} are asked")
        kafka = self._jvm.org.apache.kafka
        places = [
            kafka.common.TopicPartition(name, number)
            for name, count in counts.items()
            for number in range(count)
        ]
        specs = kafka.clients.admin.OffsetSpec
        earliest = self._offsets(places, specs.earliest())
        latest = self._offsets(places, specs.latest())
        return {
            name: {
                number: (earliest[name, number], latest[name, number]) for number in range(count)
            }
            for name, count in counts.items()
        }

    def _offsets(self, places: list[Java], spec: Java) -> dict[Place, int]:
        asked = self._jvm.java.util.HashMap()
        for place in places:
            asked.put(place, spec)
        text = str(self._wait(self._admin.listOffsets(asked).all()).toString())
        found = {(each[1], int(each[2])): int(each[3]) for each in _OFFSET.finditer(text)}
        if len(found) != len(places):
            raise CannotAskError("the Kafka client of the session answers in an unknown form")
        return found

    def retention(self, name: str) -> dict[str, int]:
        """Return how long a topic keeps records; nothing when its settings are hidden."""
        config = self._jvm.org.apache.kafka.common.config
        kind = getattr(config, "ConfigResource$Type").TOPIC
        resource = config.ConfigResource(kind, name)
        try:
            asked = self._admin.describeConfigs(self._list([resource])).values()
            found = self._wait(asked.get(resource))
            entries: dict[str, Java | None] = {each: found.get(each) for each in _SETTINGS}
            there = {each: entry.value() for each, entry in entries.items() if entry is not None}
            return read_retention({each: text_or_none(value) for each, value in there.items()})
        except spark_errors():
            return {}

    def _wait(self, future: Java) -> Java:
        left = int((self._until - clock.monotonic()) * 1000)
        if left <= 0:
            raise CannotAskError(f"the broker did not answer within {ANSWER_S:.0f} s")
        return future.get(left, self._jvm.java.util.concurrent.TimeUnit.MILLISECONDS)

    def _list(self, items: Iterable[object]) -> Java:
        found = self._jvm.java.util.ArrayList()
        for each in items:
            found.add(each)
        return found


@contextmanager
def _asking() -> Iterator[None]:
    """Turn what the JVM raises into a reason that holds no text of it."""
    try:
        yield
    except spark_errors() as error:
        raise CannotAskError(f"the broker did not answer ({_name_of(error)})") from None


def _name_of(error: BaseException) -> str:
    """Return the class of the innermost error of the JVM, without its package."""
    inner = getattr(error, "java_exception", None)
    if inner is None:
        return type(error).__name__
    while (cause := inner.getCause()) is not None:
        inner = cause
    return str(inner.getClass().getSimpleName())
