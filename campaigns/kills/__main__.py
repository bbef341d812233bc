"""Kills between every two steps of guarded streams, where the built-in drills do not go.

    python -m campaigns.kills [CHAIN]...

From Kafka into PostgreSQL, with and without state, on S3, HDFS, Azure and GCS, behind a pool, by
one task and by two at once; into Delta, on disk, on S3, into two tables. In a chain every run
recovers the last kill and dies at the next point. After every death each table holds exactly the
batches that its ledger tells of; at the end every row exactly once. Meanwhile a reader looks five
times a second.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import click

from campaigns.kills import delta, postgres
from campaigns.outcome import describe, describe_bound, kills_of
from holdfast.drills.drill import Drilled
from holdfast.drills.history import History
from lab import S3, Kafka, PgBouncer, Postgres
from lab.azurite import Azurite
from lab.gcs import Gcs
from lab.hdfs import Hdfs
from lab.scratch import scratch_directory
from lab.spark import environment
from lab.warm_up import ensure_archive

CHAINS = (*postgres.CHAINS, *delta.BUILTIN_CHAINS, *delta.CHAINS)


def run(name: str, servers: postgres.Servers, directory: Path) -> Drilled:
    """Run one chain."""
    if name in postgres.CHAINS:
        return postgres.run(name, postgres.CHAINS[name], servers, directory=directory)
    if name in delta.BUILTIN_CHAINS:
        return delta.run_builtin(name, delta.BUILTIN_CHAINS[name], directory)
    assert servers.s3 is not None
    return delta.run(name, delta.CHAINS[name], directory, s3=servers.s3)


@click.command(help=__doc__)
@click.argument("names", metavar="[CHAIN]...", nargs=-1, type=click.Choice(CHAINS))
def main(names: tuple[str, ...]) -> None:
    """Run the chains, and end with 1 when one does not pass."""
    ensure_archive()
    kills, failed = 0, 0
    chosen = names or CHAINS
    chains = [postgres.CHAINS[name] for name in chosen if name in postgres.CHAINS]
    needed = {chain.on for chain in chains}
    needs_pool = any(chain.pooled for chain in chains)
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_directory())
        database = stack.enter_context(Postgres())
        servers = postgres.Servers(
            kafka=stack.enter_context(Kafka()),
            postgres=database,
            s3=stack.enter_context(S3()),
            hdfs=stack.enter_context(Hdfs()) if "hdfs" in needed else None,
            azurite=stack.enter_context(Azurite()) if "azure" in needed else None,
            gcs=stack.enter_context(Gcs()) if "gcs" in needed else None,
            pool=stack.enter_context(PgBouncer(database)) if needs_pool else None,
        )
        os.environ.update(environment(scratch / "spark", {}))
        for name in chosen:
            drilled = run(name, servers, scratch / name)
            kills += kills_of(History(drilled.directory))
            failed += drilled.verdict != 0
            click.echo(describe(drilled))
    if failed:
        sys.exit(f"{failed} of {len(chosen)} chains do not pass.")
    click.echo(describe_bound(kills))


if __name__ == "__main__":
    main()
