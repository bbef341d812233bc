"""A real Kafka broker: KRaft, one process, started from Maven's jars."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lab.jars import fetch_jars
from lab.server import Server, free_ports
from lab.tools import find_tool

# Retention is off: test messages carry fixed timestamps, and the broker would delete them by those.
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
broker.heartbeat.interval.ms=200
broker.session.timeout.ms=3000
log.retention.ms=-1
"""

# One broker for tests: a cheap start is worth more than peak throughput.
_JVM = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")


class Broker:
    """A broker that runs somewhere, as its clients see it."""

    def __init__(self, address: str) -> None:
        self._address = address

    def create_topic(self, topic: str, *, partitions: int) -> None:
        """Create a topic and wait until the broker has it."""
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1)
        admin = self._admin()  # held: its futures end with it
        for future in admin.create_topics([new]).values():
            future.result()

    def produce(self, topic: str, messages: Iterable[Record]) -> int:
        """Send messages and wait until the broker has acknowledged every one; return how many."""
        refused: list[str] = []

        def acknowledge(error: object, _: Message) -> None:
            if error is not None:
                refused.append(str(error))

        # Idempotent: a request that is sent again must not put its messages there twice.
        settings = {"bootstrap.servers": self._address, "linger.ms": 20, "enable.idempotence": True}
        producer = Producer({**settings, "log_level": 3})
        sent = 0
        for partition, key, value, timestamp_ms in messages:
            producer.produce(
                topic,
                partition=partition,
                key=key,
                value=value,
                timestamp=timestamp_ms,
                on_delivery=acknowledge,
            )
            sent += 1
            if sent % 10_000 == 0:
                producer.flush()
        producer.flush()
        if refused:
            raise RuntimeError(f"the broker refused {len(refused)} messages: {refused[0]}")
        return sent

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self._address, "log_level": 0})

    def answers(self) -> bool:
        """Return whether it answers within half a second."""
        try:
            return bool(self._admin().list_topics(timeout=0.5).brokers)
        except KafkaException:
            return False


class Kafka(Server):
    """A Kafka broker; `address` is its bootstrap server."""

    name: ClassVar[str] = "kafka"

    def __init__(
        self,
        directory: Path | None = None,
        *,
        properties: Mapping[str, str] | None = None,
        jvm: Sequence[str] = _JVM,
    ) -> None:
        """Choose its ports.

        Args:
            directory: Where it keeps its data.
            properties: Of the broker, beside or instead of those that every broker here has.
            jvm: Options of its JVM; a benchmark of throughput wants the full compiler.
        """
        super().__init__(directory)
        self._broker, self._controller = free_ports(2)
        self._more = properties or {}
        self._options = jvm

    @property
    def address(self) -> str:
        """The bootstrap server."""
        return f"127.0.0.1:{self._broker}"

    def create_topic(self, topic: str, *, partitions: int) -> None:
        """Create a topic and wait until the broker has it."""
        Broker(self.address).create_topic(topic, partitions=partitions)

    def produce(self, topic: str, messages: Iterable[Record]) -> int:
        """Send messages and wait until the broker has acknowledged every one; return how many."""
        return Broker(self.address).produce(topic, messages)

    def _prepare(self) -> None:
        properties = self.directory / "server.properties"
        if properties.exists():
            return
        data = self.directory / "data"
        text = _PROPERTIES.format(broker=self._broker, controller=self._controller, data=data)
        text += "".join(f"{name}={value}\n" for name, value in self._more.items())
        draft = properties.with_suffix(".draft")
        draft.write_text(text)
        cluster = ["-t", uuid.uuid4().hex[:22], "-c", str(draft)]
        with self.log.open("ab") as log:
            subprocess.run(
                [*self._java(), "kafka.tools.StorageTool", "format", *cluster],
                check=True,
                stdout=log,
                stderr=log,
            )
        draft.rename(properties)  # last: what has properties has a formatted directory

    def _command(self) -> list[str]:
        return [*self._java(), "kafka.Kafka", str(self.directory / "server.properties")]

    def _java(self) -> list[str]:
        class_path = ":".join(map(str, fetch_jars("kafka")))
        return [find_tool("java"), *self._options, "-cp", class_path]

    def _answers(self) -> bool:
        return Broker(self.address).answers()


Record = tuple[int, bytes | None, bytes, int]
"""Partition, key, value and timestamp in milliseconds of one message."""
