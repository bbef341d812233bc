"""Run the reference pipeline on real Kafka, S3 and PostgreSQL, and judge every table exactly.

    python -m examples.sensors --messages 100000 --seed 1
    python -m examples.sensors --guarded --messages 100000 --seed 1

The exit code is 0 when every table is exact.
"""

from __future__ import annotations

import os
import sys
import time

import click

from examples.sensors import guarded, plain
from examples.sensors.judge import judge
from examples.sensors.messages import make_messages
from examples.sensors.scenario import make_scenario, send
from lab import S3, Kafka, Postgres
from lab.scratch import scratch_directory
from lab.spark import start_session
from lab.warm_up import ensure_archive


@click.command(help=__doc__)
@click.option("--messages", "count", default=20_000, show_default=True, help="How many to send.")
@click.option("--seed", default=1, show_default=True, help="The same seed gives the same messages.")
@click.option("--guarded", "is_guarded", is_flag=True, help="On Holdfast instead of plain Spark.")
def main(*, count: int, seed: int, is_guarded: bool) -> None:
    """Send half, run, send the rest, run again on the same checkpoints, judge."""
    ensure_archive()
    pipeline = guarded if is_guarded else plain
    with Kafka() as kafka, Postgres() as postgres, S3() as s3, scratch_directory() as scratch:
        sensors = make_scenario(
            kafka,
            postgres,
            messages_per_batch=max(1_000, count // 8),
            serving_table=pipeline.SERVING_TABLE,
        )
        os.environ[guarded.DSN_NAME] = sensors.dsn  # before Spark starts: its workers have it too
        spark = start_session(scratch, s3.spark_settings())
        sent = make_messages(count, seed=seed)
        began = time.monotonic()
        for part in (sent[: count // 2], sent[count // 2 :]):
            send(kafka, sensors.topic, part)
            click.echo(f"{len(part):,} messages sent", err=True)
            pipeline.run_once(spark, sensors)
        seconds = time.monotonic() - began
        differences = judge(spark, sensors, sent)
        spark.stop()
    exact = all(difference.exact for difference in differences.values())
    verdict = "Exact" if exact else "NOT exact"
    click.echo(f"{verdict}: {count:,} messages, seed {seed}, {seconds:.0f} s.")
    click.echo(f"  {'table':<12}{'expected':>10}{'missing':>10}{'doubled':>10}{'foreign':>10}")
    for table, found in differences.items():
        click.echo(
            f"  {table:<12}{found.expected:>10,}{found.missing:>10,}"
            f"{found.doubled:>10,}{found.foreign:>10,}"
        )
    sys.exit(0 if exact else 1)


if __name__ == "__main__":
    main()
