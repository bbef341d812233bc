"""What can happen to the topics of a stream: on a real broker, with real Spark."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable
from functools import partial

from campaigns.situations.kafka_stream import KafkaStream
from campaigns.situations.situation import Bench, Shown, Situation
from holdfast.proof.multiset import compare
from holdfast.sources.kafka.found import KafkaSource


def _make_pattern(bench: Bench, **options: str) -> Shown:
    """The query names its topics by a pattern, and one of two is deleted."""
    name = f"patterned-{uuid.uuid4().hex[:8]}"
    broker = bench.kafka()
    broker.create_topic(f"{name}-kept", partitions=1)

    def delete(stream: KafkaStream) -> None:
        stream.produce(3, topic=f"{name}-kept")
        stream.produce(2)  # not read: lost with the topic
        stream.delete()

    return _make(
        bench, damage=delete, topic=f"{name}-deleted", subscribePattern=f"{name}.*", **options
    )


def _make(
    bench: Bench, *, damage: Callable[[KafkaStream], None], topic: str = "", **options: str
) -> Shown:
    """Build a stream, judge it, damage its topic, judge it again, and start it on a copy."""
    stream = KafkaStream(bench=bench, options=options, partitions=2)
    stream.topic = topic or stream.topic
    stream.create()
    stream.produce(6)
    stream.produce(4, partition=1)
    problem = stream.run(stream.checkpoint)
    assert not problem, problem
    found = stream.probe().found
    assert isinstance(found, KafkaSource), found
    stream.recorded = found.topic_ids
    healthy = stream.judge()
    damage(stream)
    findings = stream.judge()
    copy = bench.place / "copy"
    shutil.copytree(stream.checkpoint, copy)
    error = stream.run(copy)
    return Shown(
        healthy=healthy,
        findings=findings,
        difference=None if error else compare(stream.expected, stream.sink),
        error=error,
        spark_said=error or "nothing",
    )


def _expire(stream: KafkaStream) -> None:
    """Three records that were not read are deleted."""
    stream.produce(5)
    stream.delete_records(9)


def _expire_pending(stream: KafkaStream) -> None:
    """Three records of a batch that was planned, and did not reach the sink, are deleted."""
    before = len(stream.sink)
    stream.produce(5)
    stream.run(stream.checkpoint)
    for name in ("1", ".1.crc"):
        (stream.checkpoint / "commits" / name).unlink()
    del stream.sink[before:]
    stream.delete_records(9)


def _make_shorter(stream: KafkaStream) -> None:
    """The new topic has fewer records than the old one had."""
    stream.recreate()
    stream.produce(3)
    stream.produce(2, partition=1)


def _make_longer(stream: KafkaStream) -> None:
    """The new topic has more records than the old one had, in every partition."""
    stream.recreate()
    stream.produce(8)
    stream.produce(5, partition=1)


def _make_longer_unrecorded(stream: KafkaStream) -> None:
    """As before, an hour later, and without the id of the old topic."""
    stream.recorded = {}
    stream.recreate()
    stream.produce(8, ahead_s=3600)
    stream.produce(5, partition=1, ahead_s=3600)


def _lose_partition(stream: KafkaStream) -> None:
    stream.partitions = 1
    stream.recreate()
    stream.produce(7)


def _add_old_topic(stream: KafkaStream) -> None:
    other = f"{stream.topic}-more"
    stream.broker.create_topic(other, partitions=1)
    stream.produce(4, topic=other)
    stream.delete_records(1, topic=other)
    stream.options["subscribe"] = f"{stream.topic},{other}"


SITUATIONS = (
    Situation(
        name="kafka-records-expired",
        code="HF320",
        make=partial(_make, damage=_expire),
    ),
    Situation(
        name="kafka-records-expired-ignored",
        code="HF321",
        make=partial(_make, damage=_expire, failOnDataLoss="false"),
    ),
    Situation(
        name="kafka-pending-records-expired-ignored",
        code="HF321",
        make=partial(_make, damage=_expire_pending, failOnDataLoss="false"),
    ),
    Situation(
        name="kafka-topic-shorter",
        code="HF323",
        make=partial(_make, damage=_make_shorter),
    ),
    Situation(
        name="kafka-topic-shorter-ignored",
        code="HF321",
        make=partial(_make, damage=_make_shorter, failOnDataLoss="false"),
    ),
    Situation(
        name="kafka-topic-recreated",
        code="HF324",
        make=partial(_make, damage=_make_longer),
        trap="A Kafka topic was deleted and created again, and is longer than the checkpoint's "
        "offset: `failOnDataLoss=true` does not notice.",
    ),
    Situation(
        name="kafka-topic-seems-recreated",
        code="HF325",
        make=partial(_make, damage=_make_longer_unrecorded),
    ),
    Situation(
        name="kafka-topic-gone",
        code="HF326",
        make=partial(_make, damage=KafkaStream.delete),
    ),
    Situation(
        name="kafka-topic-gone-ignored",
        code="HF326",
        make=partial(_make, damage=KafkaStream.delete, failOnDataLoss="false"),
    ),
    Situation(
        name="kafka-pattern-topic-gone",
        code="HF326",
        make=_make_pattern,
    ),
    Situation(
        name="kafka-pattern-topic-gone-ignored",
        code="HF321",
        make=partial(_make_pattern, failOnDataLoss="false"),
    ),
    Situation(
        name="kafka-partition-gone",
        code="HF326",
        make=partial(_make, damage=_lose_partition),
    ),
    Situation(
        name="kafka-partition-gone-ignored",
        code="HF321",
        make=partial(_make, damage=_lose_partition, failOnDataLoss="false"),
    ),
    Situation(
        name="kafka-added-topic-expired",
        code="HF328",
        make=partial(_make, damage=_add_old_topic),
    ),
)
