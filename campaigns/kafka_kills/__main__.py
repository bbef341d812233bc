"""Kills and pauses of guarded streams from Kafka into Kafka.

    python -m campaigns.kafka_kills [CHAIN]...

In a chain every run recovers the last kill and dies at the next point, without and with state.
After every death each partition holds exactly the batches that the ledger tells of; at the end
every record exactly once. Meanwhile a `read_committed` consumer reads the whole topic five times a
second, and finds complete batches in every partition. `pauses`: a driver is paused past its lease
at each point, replaced by a second one, and resumed.
"""

from __future__ import annotations

import sys

import click

from campaigns.kafka_kills.chains import CHAINS, PAUSES, pause, run_chain
from campaigns.outcome import describe, describe_bound, kills_of
from holdfast.drills.history import History
from lab import Kafka
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

PAUSED = "pauses"


@click.command(help=__doc__)
@click.argument("names", metavar="[CHAIN]...", nargs=-1, type=click.Choice([*CHAINS, PAUSED]))
def main(names: tuple[str, ...]) -> None:
    """Run the chains, and end with 1 when one does not pass."""
    ensure_archive()
    chosen = names or (*CHAINS, PAUSED)
    kills, failed = 0, 0
    with Kafka() as kafka, scratch_directory() as scratch:
        for name in chosen:
            if name == PAUSED:
                for number, point in enumerate(PAUSES):
                    click.echo(pause(point, kafka, directory=scratch / f"pause-{number}"))
                continue
            drilled = run_chain(name, CHAINS[name], kafka, directory=scratch / name)
            kills += kills_of(History(drilled.directory))
            failed += drilled.verdict != 0
            click.echo(describe(drilled))
    if failed:
        sys.exit(f"{failed} chains do not pass.")
    if kills:
        click.echo(describe_bound(kills))


if __name__ == "__main__":
    main()
