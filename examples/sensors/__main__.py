"""Run the sensors pipeline and compare every table with the exact answer.

    python -m examples.sensors
    python -m examples.sensors --kafka broker:9092 --postgres env:SENSORS_DSN --root s3a://lake/demo

Without options it needs no server: files stand for the Kafka topic, and the tables are Delta tables
on this machine's disk. It sends half of the messages, runs all streams, sends the rest, and runs
them again on the same checkpoints. The exit code is 0 when every table is exact.
"""

from __future__ import annotations

import sys
import time
from itertools import count
from pathlib import Path

import click

from examples.sensors import answers, guarded, landing
from examples.sensors.judge import judge
from examples.sensors.messages import Message, make_messages
from examples.sensors.session import start_session
from examples.sensors.settings import Sensors
from holdfast.proof.multiset import Difference
from holdfast.sinks.secrets import reveal


@click.command(help=__doc__)
@click.option("--messages", "number", default=20_000, show_default=True, help="How many to send.")
@click.option("--seed", default=1, show_default=True, help="The same seed gives the same messages.")
@click.option("--root", help="Where tables and checkpoints go: a new directory, or s3a://….")
@click.option("--kafka", default="", help="Brokers, to read a topic instead of files.")
@click.option("--topic", default="sensors", show_default=True)
@click.option("--postgres", default="", help="Where the DSN is: env:NAME or file:PATH.")
def main(*, number: int, seed: int, root: str | None, **given: str) -> None:
    """Send half, run, send the rest, run again on the same checkpoints, compare."""
    began = time.monotonic()
    sensors = make_sensors(root, **given, messages_per_batch=max(1_000, number // 2))
    spark = start_session(sensors)
    sent = make_messages(number, seed=seed)
    for part in (sent[: number // 2], sent[number // 2 :]):
        deliver(sensors, part)
        click.echo(f"{len(part):,} messages sent; the streams run", err=True)
        guarded.run_once(spark, sensors)
    differences = judge(spark, sensors, sent)
    spark.stop()
    exact = all(each.exact for each in differences.values())
    click.echo("Exact" if exact else "NOT exact", nl=False)
    click.echo(f": {answers.count(sent)}; seed {seed}, {time.monotonic() - began:.0f} s.")
    click.echo(as_table(differences))
    click.echo(f"Look at it: holdfast inspect {sensors.checkpoints}/product-usage")
    sys.exit(0 if exact else 1)


def make_sensors(
    root: str | None, *, kafka: str, topic: str, postgres: str, messages_per_batch: int
) -> Sensors:
    """Return where the pipeline reads and writes, with everything it needs there.

    Raises:
        SystemExit: Kafka has the topic already, so its tables would not be those of this run.
    """
    local = _new_directory(None if root is None or "://" in root else root)
    lake = root if root is not None and "://" in root else str(local)
    dsn = ""
    if postgres:
        dsn = reveal(postgres)
        _create_tables(dsn)
    if kafka:
        from examples.sensors.topic import create_topic  # noqa: PLC0415 - needs an extra

        if not create_topic(kafka, topic):
            raise SystemExit(f"The topic {topic} is there already: name a new one with --topic.")
    return Sensors(
        topic=topic,
        bootstrap=kafka,
        files="" if kafka else str(local / "landing"),
        lake=lake,
        checkpoints=f"{lake}/checkpoints",
        postgres=postgres,
        dsn=dsn,
        messages_per_batch=messages_per_batch,
    )


def _new_directory(named: str | None) -> Path:
    """Return a directory that is not there yet: the tables must be those of this run.

    Raises:
        SystemExit: The one that was asked for is there.
    """
    if named is not None and Path(named).exists():
        raise SystemExit(f"{named} is there already: name a new directory with --root.")
    free = (Path(f"sensors-demo-{number}") for number in count(1))
    return (Path(named) if named else next(each for each in free if not each.exists())).resolve()


def _create_tables(dsn: str) -> None:
    import psycopg  # noqa: PLC0415 - an extra: only where there is a PostgreSQL

    with psycopg.connect(dsn) as connection:
        connection.execute(guarded.SERVING_TABLES.encode())


def deliver(sensors: Sensors, messages: list[Message]) -> None:
    """Send messages to the topic, or write them as files."""
    if sensors.files:
        per_file = sensors.messages_per_batch
        landing.land(Path(sensors.files), sensors.topic, messages, per_file=per_file)
        return
    from examples.sensors.topic import send  # noqa: PLC0415 - needs an extra

    send(sensors.bootstrap, sensors.topic, messages)


def as_table(differences: dict[str, Difference]) -> str:
    """Return how the tables differ, a line each."""
    lines = [f"  {'table':<16}{'expected':>9}{'missing':>9}{'duplicated':>12}{'unexpected':>12}"]
    lines += [
        f"  {table:<16}{found.expected:>9,}{found.missing:>9,}"
        f"{found.duplicated:>12,}{found.foreign:>12,}"
        for table, found in differences.items()
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
