"""The mission's own case: a bug in the first stage put bad rows into every table below it.

    python -m campaigns.mission [--messages 4000] [--seed 1]

Three times, on real Kafka, S3, PostgreSQL, Delta and Spark:

  planned     `holdfast plan reset sensor-raw-ingest --cascade`, `apply`, start: every table is
              compared row by row with what the messages must have become
  expired     the same with part of the topic gone: the plan says how many records are lost for
              good, and `apply` refuses without the word for it
  by hand     the same pipeline without Holdfast: stop, fix, delete the checkpoints, start from
              earliest; the tables are not cleared (`campaigns.five_steps` has all five steps)

The exit code is 0 when the first two are exact and the numbers of the plan are right.
"""

from __future__ import annotations

import sys

import click

from campaigns.mission.cases import Bench, Result, by_hand, expired, planned
from lab import S3, Kafka, Postgres
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive


def _show(result: Result) -> None:
    """Print how each table of a case differs."""
    click.echo(
        f"{'case':<10}{'table':<16}{'expected':>10}{'missing':>9}{'duplicated':>12}{'wrong':>7}"
    )
    for table, found in result.tables.items():
        click.echo(
            f"{result.name:<10}{table:<16}{found.expected:>10,}{found.missing:>9,}"
            f"{found.duplicated:>12,}{found.foreign:>7,}"
        )


@click.command(help=__doc__)
@click.option("--messages", "count", default=4_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--only", type=click.Choice(["planned", "expired", "by-hand"]))
def main(*, count: int, seed: int, only: str | None) -> None:
    """Run the cases one after the other and print what each table holds then."""
    ensure_archive()
    cases = {"planned": planned, "expired": expired, "by-hand": by_hand}
    with Kafka() as kafka, Postgres() as postgres, S3() as s3, scratch_directory() as scratch:
        bench = Bench(
            kafka=kafka, postgres=postgres, s3=s3, scratch=scratch, count=count, seed=seed
        )
        results = []
        for name in (each for each in cases if only in (None, each)):
            results.append(cases[name](bench))
            _show(results[-1])
    click.echo(f"messages {count:,}, seed {seed}")
    for result in results:
        _show(result)
    bad = [result.name for result in results if not result.is_as_said]
    click.echo(f"NOT as said: {', '.join(bad)}" if bad else "All as said.")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
