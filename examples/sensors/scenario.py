"""Sets the pipeline up on the lab's servers: a topic, a database, locations of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterable

import psycopg

from examples.sensors.messages import PARTITIONS, Message
from examples.sensors.plain import SERVING_TABLE, Sensors
from lab.kafka import Broker, Kafka
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
    kafka.create_topic(name, partitions=PARTITIONS)
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


def send(kafka: Broker | Kafka, topic: str, messages: Iterable[Message]) -> None:
    """Send messages to where their partitions and offsets say they belong."""
    kafka.produce(
        topic,
        (
            (each.partition, each.key, each.value, round(each.timestamp.timestamp() * 1000))
            for each in messages
        ),
    )
