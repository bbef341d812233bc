"""The mission on plain streams: a bug in the first stage put bad rows into every table below it.

    python -m campaigns.plain_mission [--messages 2000] [--seed 1] [--store local|s3]

Five programs that Holdfast does not guard (Kafka, Delta by its own sink, a merge and PostgreSQL in
`foreachBatch`, two of them with state) are reset together by the command line, in processes of
their own:

  refused     without --cascade, and once a stream in between has gone on
  undo        right after the plan: every table and every checkpoint is as before, and the
              programs go on
  exact       after the plan and the fixed program, every table is compared row by row with what
              the messages must have become
  undo        after the fixed program has run: the same

The exit code is 0 when all of it held.
"""

from __future__ import annotations

import sys

import click

from campaigns.plain_mission.cases import Bench, play
from lab import S3, Kafka, Postgres
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

STORES = ("local", "s3")


@click.command(help=__doc__)
@click.option("--messages", "count", default=2_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--store", type=click.Choice(STORES))
def main(*, count: int, seed: int, store: str | None) -> None:
    """Play the mission on each store and print what was shown."""
    ensure_archive()
    with Kafka() as kafka, Postgres() as postgres, S3() as s3, scratch_directory() as scratch:
        bench = Bench(
            kafka=kafka, postgres=postgres, s3=s3, scratch=scratch, count=count, seed=seed
        )
        missions = [play(bench, each) for each in STORES if store in (None, each)]
    click.echo(f"messages {count:,}, seed {seed}")
    click.echo(
        f"{'store':<7}{'table':<16}{'expected':>9}{'missing':>9}{'duplicated':>12}{'wrong':>7}"
    )
    for mission in missions:
        for table, found in mission.tables.items():
            click.echo(
                f"{mission.store:<7}{table:<16}{found.expected:>9,}{found.missing:>9,}"
                f"{found.duplicated:>12,}{found.foreign:>7,}"
            )
    shown = [(mission.store, *each) for mission in missions for each in mission.shown]
    bad = [f"{where}: {what}" for where, what, holds in shown if not holds]
    click.echo(f"NOT shown: {'; '.join(bad)}" if bad else f"All {len(shown)} claims held.")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
