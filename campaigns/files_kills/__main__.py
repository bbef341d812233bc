"""Kills and pauses of guarded streams of files into files.

    python -m campaigns.files_kills [CHAIN]...

In a chain every run recovers the last kill and dies at the next point: Parquet, JSON, CSV,
partitioned, and with state. After every death the directory holds exactly the batches that the
ledger tells of; at the end every row exactly once. Meanwhile readers that know nothing of Holdfast
read the whole directory five times a second, pyarrow as a dataset and a glob over every depth, and
find complete batches. `pauses`: a driver is paused past its lease at each point, replaced by a
second one, and resumed. `beside`: Spark's own file sink under the same kills.
"""

from __future__ import annotations

from pathlib import Path

import click

from campaigns.files_kills.beside import run_beside
from campaigns.files_kills.chains import CHAINS, PAUSES, pause, run_chain
from campaigns.outcome import describe, describe_bound, kills_of
from holdfast.drills.history import History
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

PAUSED, BESIDE = "pauses", "beside"


def run(name: str, scratch: Path) -> int:
    """Run one chain, or what is beside the chains; return the kills of drivers that passed.

    Raises:
        AssertionError: Something does not pass.
    """
    if name == PAUSED:
        for number, point in enumerate(PAUSES):
            click.echo(pause(point, directory=scratch / f"pause-{number}"))
        return 0
    if name == BESIDE:
        click.echo(run_beside(scratch / BESIDE))
        return 0
    drilled = run_chain(name, CHAINS[name], directory=scratch / name)
    click.echo(describe(drilled))
    assert drilled.verdict == 0, f"{name} does not pass"
    return kills_of(History(drilled.directory))


@click.command(help=__doc__)
@click.argument(
    "names", metavar="[CHAIN]...", nargs=-1, type=click.Choice([*CHAINS, PAUSED, BESIDE])
)
def main(names: tuple[str, ...]) -> None:
    """Run what is asked for, or all."""
    ensure_archive()
    with scratch_directory() as scratch:
        counted = sum(run(name, scratch) for name in names or (*CHAINS, PAUSED, BESIDE))
    if counted:
        click.echo(describe_bound(counted))


if __name__ == "__main__":
    main()
