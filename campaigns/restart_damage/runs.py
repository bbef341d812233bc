"""One run of a damage scenario: its topic, its output, its drivers, and the judgement."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from pyspark.sql import SparkSession

from campaigns.restart_damage import as_the_web_advises
from campaigns.streams.sensors_scenario import send
from examples.sensors.messages import PARTITIONS, Message, make_messages
from holdfast.drills.kill import Driver, Named
from holdfast.drills.kill.driver import RUN_SECONDS
from holdfast.proof.multiset import Difference, compare
from lab import Kafka, Postgres
from lab.faults.tcp_proxy import TcpProxy
from lab.spark import environment

MESSAGES = 10_000
"""Sent before the first start; some scenarios send as many again before the restart."""
PER_BATCH = 1_000

_TABLE = 'create table readings (partition int, "offset" bigint, sensor_id text, batch_id int)'

_ROWS = 'select partition, "offset", sensor_id from readings'


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """What every run needs."""

    kafka: Kafka
    postgres: Postgres
    spark: SparkSession
    """Reads Delta and Parquet output the way a user would."""


class Run:
    """A stream with a sink, an empty topic and an empty output; the first messages are sent."""

    inside_batch_2 = Named("sink-called", 3)

    def __init__(
        self, servers: Servers, name: str, *, sink: str, seed: int, directory: Path
    ) -> None:
        self.servers = servers
        # Also the topic's and the database's: a fixed name keeps the order of Spark's tasks fixed.
        self._name = f"damage_{name}_{seed}".replace("-", "_")
        self._sink = sink
        self._directory = directory
        self._checkpoint = directory / "checkpoint"
        self._table = directory / "table"
        self._unsent = make_messages(2 * MESSAGES, seed=seed)
        self._sent: list[Message] = []
        self._drivers = 0
        servers.kafka.create_topic(self._name, partitions=PARTITIONS)
        self._dsn = servers.postgres.create_database(self._name)
        with psycopg.connect(self._dsn) as connection:
            connection.execute(_TABLE)
        self.send_messages()

    def send_messages(self) -> None:
        """Send the next `MESSAGES` messages."""
        part, self._unsent = self._unsent[:MESSAGES], self._unsent[MESSAGES:]
        send(self.servers.kafka, self._name, part)
        self._sent += part

    def driver(self, *, cores: int = 2, **options: Any) -> Driver:
        """Return a driver on the run's checkpoint; nothing is started.

        Args:
            cores: How many tasks run at once.
            options: `per_batch`, `starting`, or where the output is reached: `target`.
        """
        self._drivers += 1
        directory = self._directory / f"driver-{self._drivers}"
        config = {
            "bootstrap": self.servers.kafka.address,
            "topic": self._name,
            "checkpoint": str(self._checkpoint),
            "target": self._target(),
            "dsn": self._dsn,
            "starting": "earliest",
            "per_batch": PER_BATCH,
            **options,
        }
        return Driver(
            [*self._program(), json.dumps(config)],
            environment={
                **environment(directory, {"spark.master": f"local[{cores}]"}),
                "READINGS_DSN": self._dsn,
            },
            directory=directory,
        )

    def _program(self) -> list[str]:
        return [as_the_web_advises.__file__, self._sink]

    def _target(self, *, jdbc_port: int | None = None) -> str:
        if self._sink.startswith("jdbc"):
            return self.servers.postgres.jdbc_url(self._name, port=jdbc_port)
        return str(self._table)

    def kill_inside_the_write(self) -> None:
        """Kill when one of the four tasks of batch 0 has committed."""
        with TcpProxy(self.servers.postgres.port) as proxy:
            # One core runs the tasks in turn. The first COMMIT is Spark's look at the table.
            second_task = proxy.at(b"COMMIT", "hold", nth=3)
            target = self._target(jdbc_port=proxy.port)
            with self.driver(target=target, cores=1).start() as running:
                second_task.wait(seconds=RUN_SECONDS)
                running.kill()
                running.wait()

    def restart(self, **options: Any) -> None:
        """Start again after whatever happened, and run to the end."""
        self.driver(**options).run_to_end()

    def next_offsets(self) -> str:
        """Return Kafka's `startingOffsets` just after the last message sent so far."""
        ends = Counter(message.partition for message in self._sent)
        return json.dumps({self._name: {str(p): ends[p] for p in range(PARTITIONS)}})

    def delete_checkpoint(self) -> None:
        """Do what is done to "reset" a stream."""
        shutil.rmtree(self._checkpoint)

    def empty_table(self) -> None:
        """Delete every row of the Delta table, as a careful reset does before it starts over."""
        self.servers.spark.sql(f"delete from delta.`{self._table}`")  # noqa: S608 - our own path

    def difference(self) -> Difference:
        """Compare the output with every message sent, row by row.

        Raises:
            AssertionError: The output holds a row that was never sent; no scenario explains that.
        """
        expected = ((each.partition, each.offset, each.key.decode()) for each in self._sent)
        found = compare(expected, self._rows())
        assert found.foreign == 0, found
        return found

    def _rows(self) -> Iterator[tuple[int, int, str]]:
        if self._sink.startswith("jdbc"):
            with psycopg.connect(self._dsn) as connection:
                yield from connection.execute(_ROWS)
            return
        table_format = "delta" if self._sink.startswith("delta") else "parquet"
        table = self.servers.spark.read.format(table_format).load(str(self._table))
        for row in table.select("partition", "offset", "sensor_id").collect():
            yield row.partition, row.offset, row.sensor_id
