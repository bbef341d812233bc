"""`python -m lab check`: start each server, do one round trip, say how long it took."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import click
import obstore
import psycopg
from confluent_kafka import Consumer, KafkaException, TopicPartition
from obstore.exceptions import BaseError

from holdfast.drills.kill.driver import Driver
from holdfast.errors import HoldfastError
from lab.errors import ToolMissingError
from lab.kafka import Kafka
from lab.pgbouncer import PgBouncer
from lab.postgres import Postgres
from lab.s3 import S3
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

_TOPIC = "check"
OPTIONAL = {"pgbouncer": "the tests and kills behind a connection pool"}
"""Programs that only some tests need, and which: those fail by name where it is missing."""
FAILURES = (
    BaseError,
    HoldfastError,
    KafkaException,
    OSError,
    RuntimeError,
    psycopg.Error,
    subprocess.CalledProcessError,
)
_SPARK_PROGRAM = Path(__file__).with_name("programs") / "check.py"


def check() -> bool:
    """Check every server and spark, one line each; return whether all answered.

    An `OPTIONAL` program that is not on this machine fails nothing: its line says what to install.
    """
    kafka, postgres, s3 = Kafka(), Postgres(), S3()
    with ExitStack() as servers:
        answered = {
            "kafka": _report("kafka", lambda: _check_kafka(servers.enter_context(kafka))),
            "postgres": _report(
                "postgres", lambda: _check_postgres(servers.enter_context(postgres))
            ),
            "pgbouncer": _report("pgbouncer", lambda: _check_pgbouncer(postgres, servers)),
            "s3": _report("s3", lambda: _check_s3(servers.enter_context(s3))),
        }
        if answered["kafka"] and answered["s3"]:
            answered["spark"] = _report("spark", lambda: _check_spark(kafka, s3))
        else:
            answered["spark"] = False
            click.echo("spark     not checked, it needs kafka and s3: failed")
    return all(answered.values())


def _report(name: str, one: Callable[[], None]) -> bool:
    began = time.monotonic()
    try:
        one()
    except FAILURES as error:
        if isinstance(error, ToolMissingError) and error.tool in OPTIONAL:
            click.echo(
                f"{name:<10} not installed; only {OPTIONAL[error.tool]} need it. {error.how}"
            )
            return True
        click.echo(f"{name:<10}{time.monotonic() - began:6.1f} s  failed\n  {error}")
        return False
    click.echo(f"{name:<10}{time.monotonic() - began:6.1f} s  ok")
    return True


def _check_kafka(kafka: Kafka) -> None:
    kafka.create_topic(_TOPIC, partitions=1)
    kafka.produce(_TOPIC, [(0, b"key", b"round trip", 0)])
    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": "check"})
    consumer.assign([TopicPartition(_TOPIC, 0, 0)])
    message = consumer.poll(30)
    consumer.close()
    found = None if message is None else message.value()
    if found != b"round trip":
        raise RuntimeError(f"expected b'round trip' from kafka, got {found!r}")


def _check_postgres(postgres: Postgres) -> None:
    dsn = postgres.create_database("check_database")
    with psycopg.connect(dsn) as connection:
        connection.execute("create table t (v text)")
        connection.execute("insert into t values ('round trip')")
        row = connection.execute("select v from t").fetchone()
    if row != ("round trip",):
        raise RuntimeError(f"expected 'round trip' from postgres, got {row!r}")


def _check_pgbouncer(postgres: Postgres, servers: ExitStack) -> None:
    pool = servers.enter_context(PgBouncer(postgres))
    with psycopg.connect(pool.address) as connection:
        row = connection.execute("select 'round trip'").fetchone()
    if row != ("round trip",):
        raise RuntimeError(f"expected 'round trip' through pgbouncer, got {row!r}")


def _check_s3(s3: S3) -> None:
    store = s3.store()
    obstore.put(store, "check/object", b"round trip")
    found = obstore.get(store, "check/object").bytes().to_bytes()
    if found != b"round trip":
        raise RuntimeError(f"expected b'round trip' from s3, got {found!r}")


def _check_spark(kafka: Kafka, s3: S3) -> None:
    """Kafka to a Delta table on s3a and back, in a driver of its own."""
    ensure_archive()
    with scratch_directory() as scratch:
        variables = environment(scratch, s3.spark_settings())
        program = [str(_SPARK_PROGRAM), kafka.address, _TOPIC]
        Driver(program, environment=variables, directory=scratch).run_to_end()
