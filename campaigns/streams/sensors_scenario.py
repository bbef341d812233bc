"""Sets the sensors pipeline up on the lab's servers: a topic, a database, locations of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import psycopg

from examples.sensors import topic as kafka_topic
from examples.sensors.messages import Message
from examples.sensors.plain import SERVING_TABLE
from examples.sensors.settings import Sensors
from lab.kafka import Kafka
from lab.postgres import Postgres


def make_scenario(
    kafka: Kafka,
    postgres: Postgres,
    *,
    messages_per_batch: int,
    serving_table: str = SERVING_TABLE,
) -> Sensors:
    """Return a pipeline with an empty topic and nothing written yet."""
    name = f"sensors_{uuid.uuid4().hex[:8]}"
    kafka_topic.create_topic(kafka.address, name)
    dsn = postgres.create_database(name)
    with psycopg.connect(dsn) as connection:
        connection.execute(serving_table.encode())
    return Sensors(
        bootstrap=kafka.address,
        topic=name,
        lake=f"s3a://lake/{name}",
        checkpoints=f"s3a://lake/{name}/checkpoints",
        dsn=dsn,
        messages_per_batch=messages_per_batch,
    )


def send(kafka: Kafka, topic: str, messages: Iterable[Message]) -> None:
    """Send messages to where their partitions and offsets say they belong."""
    kafka_topic.send(kafka.address, topic, messages)
