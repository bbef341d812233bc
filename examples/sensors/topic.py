"""The Kafka topic of the pipeline, as a producer sees it; needs the extra `kafka`."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Delivered
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from examples.sensors.messages import PARTITIONS, Message

_IN_FLIGHT = 10_000


def create_topic(bootstrap: str, topic: str) -> bool:
    """Create the topic and wait until the brokers have it; return False if it was there."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    new = NewTopic(topic, num_partitions=PARTITIONS, replication_factor=1)
    try:
        admin.create_topics([new])[topic].result()
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        return False
    return True


def send(bootstrap: str, topic: str, messages: Iterable[Message]) -> None:
    """Send messages to the partitions they belong in, and wait for every acknowledgement.

    Raises:
        RuntimeError: The brokers refused a message.
    """
    refused: list[str] = []

    def acknowledge(error: object, _: Delivered) -> None:
        if error is not None:
            refused.append(str(error))

    # Idempotent: a request that is sent again must not put its messages there twice.
    settings = {"bootstrap.servers": bootstrap, "linger.ms": 20, "enable.idempotence": True}
    producer = Producer({**settings, "log_level": 3})
    for number, each in enumerate(messages):
        producer.produce(
            topic,
            partition=each.partition,
            key=each.key,
            value=each.value,
            timestamp=round(each.timestamp.timestamp() * 1000),
            on_delivery=acknowledge,
        )
        if number % _IN_FLIGHT == 0:
            producer.flush()
    producer.flush()
    if refused:
        raise RuntimeError(f"the broker refused {len(refused)} messages: {refused[0]}")
