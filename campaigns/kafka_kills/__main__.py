"""Kills and pauses of guarded streams from Kafka into Kafka.

    python -m campaigns.kafka_kills [CHAIN]...

In a chain every run recovers the last kill and dies at the next point, without and with state.
After every death each partition holds exactly the batches that the ledger tells of; at the end
every record exactly once. Meanwhile a `read_committed` consumer reads the whole topic five times a
second, and finds complete batches in every partition. `pauses`: a driver is paused past its lease
at each point, replaced by a second one, and resumed. `processes`: the same for writers without
Spark, a few hundred times, also some milliseconds into a commit.
"""

from __future__ import annotations

from pathlib import Path

import click

from campaigns.kafka_kills.chains import CHAINS, PAUSES, pause, run_chain
from campaigns.kafka_kills.looks import PARTITIONS, TOPIC
from campaigns.kafka_kills.processes import run_processes
from campaigns.outcome import describe, describe_bound, kills_of
from holdfast.drills.history import History
from lab import Kafka
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

PAUSED, PROCESSES = "pauses", "processes"


def run(name: str, kafka: Kafka, scratch: Path, *, kills: int, seed: int) -> int:
    """Run one chain, or what is beside the chains; return the kills of drivers that passed.

    Raises:
        AssertionError: Something does not pass.
    """
    if name == PAUSED:
        for number, point in enumerate(PAUSES):
            click.echo(pause(point, kafka, directory=scratch / f"pause-{number}"))
    elif name == PROCESSES:
        kafka.create_topic(TOPIC, partitions=PARTITIONS)
        many = {"kills": kills, "pauses": kills // 5, "seed": seed}
        for line in run_processes(kafka.address, scratch, **many):
            click.echo(line)
    else:
        drilled = run_chain(name, CHAINS[name], kafka, directory=scratch / name)
        click.echo(describe(drilled))
        assert drilled.verdict == 0, f"{name} does not pass"
        return kills_of(History(drilled.directory))
    return 0


@click.command(help=__doc__)
@click.argument(
    "names", metavar="[CHAIN]...", nargs=-1, type=click.Choice([*CHAINS, PAUSED, PROCESSES])
)
@click.option("--kills", default=200, show_default=True, help="Of processes.")
@click.option("--seed", default=1, show_default=True, help="What is drawn.")
def main(names: tuple[str, ...], *, kills: int, seed: int) -> None:
    """Run what is asked for, or all."""
    chosen = names or (*CHAINS, PAUSED, PROCESSES)
    if set(chosen) != {PROCESSES}:
        ensure_archive()
    with Kafka() as kafka, scratch_directory() as scratch:
        counted = sum(run(name, kafka, scratch, kills=kills, seed=seed) for name in chosen)
    if counted:
        click.echo(describe_bound(counted))


if __name__ == "__main__":
    main()
