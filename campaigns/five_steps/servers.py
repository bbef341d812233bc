"""What every cell needs: the servers, how much is sent, and records that expire."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from lab import Kafka, Postgres

FIRST, MESSAGES, PER_BATCH, EXPIRED = 600, 1_000, 150, 50
"""Sent before the reset, and in all; per batch; and gone from the topic where records expire."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """What every cell needs."""

    kafka: Kafka
    postgres: Postgres
    spark: SparkSession
    scratch: Path


def expire(servers: Servers, topic: str) -> None:
    """Take the oldest records of one partition out of the topic, as its retention would."""
    admin = AdminClient({"bootstrap.servers": servers.kafka.address})
    for future in admin.delete_records([TopicPartition(topic, 0, EXPIRED)]).values():
        future.result()
