"""The steps of the tutorial around the pipeline, on a lab that runs (`make lab`).

    python -m examples.sensors.steps set-up
    python -m examples.sensors.steps send --messages 5000
    python -m examples.sensors.steps judge --messages 5000

Where Kafka and PostgreSQL are is in the environment, as the lab wrote it.
"""

from __future__ import annotations

import os
import sys

import click
import psycopg
from pyspark.sql import SparkSession

from examples.sensors import guarded
from examples.sensors.judge import judge
from examples.sensors.messages import PARTITIONS, make_messages
from examples.sensors.plain import Sensors
from examples.sensors.scenario import send
from lab.kafka import Broker

TOPIC, LAKE, SEED = "sensors", "s3a://lake/sensors", 1
_messages = click.option("--messages", "count", default=5_000, show_default=True)


@click.group(help=__doc__)
def steps() -> None:
    """Group the steps."""


@steps.command("set-up")
def set_up() -> None:
    """Create the topic and the table that PostgreSQL serves."""
    _broker().create_topic(TOPIC, partitions=PARTITIONS)
    with psycopg.connect(os.environ[guarded.DSN_NAME]) as connection:
        connection.execute(guarded.SERVING_TABLE)
    click.echo(f"The topic {TOPIC} and the table latest are there, and empty.")


@steps.command("send")
@_messages
def send_messages(count: int) -> None:
    """Send messages with a known answer."""
    send(_broker(), TOPIC, make_messages(count, seed=SEED))
    click.echo(f"{count:,} messages sent.")


@steps.command("judge")
@_messages
def judge_tables(count: int) -> None:
    """Compare all five tables with what was sent, row by row."""
    sensors = Sensors(
        bootstrap=os.environ["KAFKA"],
        topic=TOPIC,
        lake=LAKE,
        checkpoints=f"{LAKE}/checkpoints",
        dsn=os.environ[guarded.DSN_NAME],
        messages_per_batch=count,
    )
    differences = judge(
        SparkSession.builder.getOrCreate(), sensors, make_messages(count, seed=SEED)
    )
    for table, found in differences.items():
        surplus = found.doubled + found.foreign
        click.echo(f"{table:<12}{found.expected:>6} rows, {found.missing} lost, {surplus} doubled")
    sys.exit(0 if all(found.exact for found in differences.values()) else 1)


def _broker() -> Broker:
    return Broker(os.environ["KAFKA"])


if __name__ == "__main__":
    steps()
