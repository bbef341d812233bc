"""The steps of the tutorials around the pipeline, on a lab that runs (`make lab`).

    python -m examples.sensors.steps set-up
    python -m examples.sensors.steps send --messages 5000
    python -m examples.sensors.steps judge --messages 5000

Where Kafka and PostgreSQL are is in the environment, as the lab wrote it. The topic and the
directory in the lake are called `sensors`, or as `--name` says.
"""

from __future__ import annotations

import os
import sys

import click
import psycopg
from pyspark.sql import SparkSession

from examples.sensors import answers, guarded, topic
from examples.sensors.judge import judge
from examples.sensors.messages import make_messages
from examples.sensors.settings import DSN_NAME, Sensors

SEED = 1
_messages = click.option("--messages", "count", default=5_000, show_default=True)
_name = click.option("--name", default="sensors", show_default=True, help="Of topic and directory.")


@click.group(help=__doc__)
def steps() -> None:
    """Group the steps."""


@steps.command("set-up")
@_name
def set_up(name: str) -> None:
    """Create the topic and the tables that PostgreSQL serves.

    Raises:
        SystemExit: The topic is there already.
    """
    if not topic.create_topic(os.environ["KAFKA"], name):
        raise SystemExit(f"The topic {name} is there already: choose another name with --name.")
    with psycopg.connect(os.environ[DSN_NAME]) as connection:
        connection.execute(guarded.SERVING_TABLES)
    click.echo(f"The topic {name} and the tables latest and product_usage are there, and empty.")


@steps.command("send")
@_messages
@_name
def send_messages(count: int, name: str) -> None:
    """Send messages with a known answer."""
    sent = make_messages(count, seed=SEED)
    topic.send(os.environ["KAFKA"], name, sent)
    click.echo(f"Sent: {answers.count(sent)}.")


@steps.command("judge")
@_messages
@_name
def judge_tables(count: int, name: str) -> None:
    """Compare all tables with what was sent, row by row."""
    lake = f"s3a://lake/{name}"
    sensors = Sensors(
        bootstrap=os.environ["KAFKA"],
        topic=name,
        lake=lake,
        checkpoints=f"{lake}/checkpoints",
        dsn=os.environ[DSN_NAME],
    )
    differences = judge(
        SparkSession.builder.getOrCreate(), sensors, make_messages(count, seed=SEED)
    )
    for table, found in differences.items():
        wrong = f"{found.missing} lost, {found.duplicated} duplicated, {found.foreign} unexpected"
        click.echo(f"{table:<15}{found.expected:>6} rows, {wrong}")
    sys.exit(0 if all(found.exact for found in differences.values()) else 1)


if __name__ == "__main__":
    steps()
