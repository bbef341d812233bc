"""Kills and pauses of guarded streams of files into files.

    python -m campaigns.files_kills [CHAIN]...

In a chain every run recovers the last kill and dies at the next point: Parquet, JSON, CSV,
partitioned, with state, on HDFS, and there with executors on a cluster. After every death the
directory holds exactly the batches that the ledger tells of; at the end every row exactly once.
Meanwhile readers that know nothing of Holdfast read the whole directory five times a second,
pyarrow as a dataset and a glob over every depth, and find complete batches; on HDFS a glob over
WebHDFS. `pauses`, `hdfs-pauses`: a driver is paused past its lease at each point, replaced by a
second one, and resumed. `beside`: Spark's own file sink under the same kills.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from campaigns.files_kills.beside import run_beside
from campaigns.files_kills.chains import CHAINS, PAUSES, PAUSES_ON_HDFS, pause, run_chain
from campaigns.files_kills.places import OnHdfs
from campaigns.outcome import describe, describe_bound, kills_of
from holdfast.drills.history import History
from lab.cluster import Cluster
from lab.hdfs import Hdfs
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

PAUSED, BESIDE, PAUSED_ON_HDFS = "pauses", "beside", "hdfs-pauses"
OTHERS = (PAUSED, PAUSED_ON_HDFS, BESIDE)


def run(name: str, scratch: Path, *, hdfs: Hdfs | None) -> int:
    """Run one chain, or what is beside the chains; return the kills of drivers that passed.

    Raises:
        AssertionError: Something does not pass.
    """
    if name == BESIDE:
        click.echo(run_beside(scratch / BESIDE))
        return 0
    if name in OTHERS:
        for number, point in enumerate(PAUSES if name == PAUSED else PAUSES_ON_HDFS):
            place = None if name == PAUSED else _on(hdfs)
            click.echo(pause(point, directory=scratch / f"{name}-{number}", place=place))
        return 0
    chain = CHAINS[name]
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster()) if chain.on == "cluster" else None
        place = None if chain.on == "disk" else _on(hdfs, cluster)
        drilled = run_chain(name, chain, directory=scratch / name, place=place)
    click.echo(describe(drilled))
    assert drilled.verdict == 0, f"{name} does not pass"
    return kills_of(History(drilled.directory))


def _on(hdfs: Hdfs | None, cluster: Cluster | None = None) -> OnHdfs:
    assert hdfs is not None
    return OnHdfs(hdfs, cluster)


@click.command(help=__doc__)
@click.argument("names", metavar="[CHAIN]...", nargs=-1, type=click.Choice([*CHAINS, *OTHERS]))
def main(names: tuple[str, ...]) -> None:
    """Run what is asked for, or all."""
    ensure_archive()
    chosen = names or (*CHAINS, *OTHERS)
    needs_hdfs = PAUSED_ON_HDFS in chosen or any(
        CHAINS[name].on != "disk" for name in chosen if name in CHAINS
    )
    with ExitStack() as stack:
        scratch = stack.enter_context(scratch_directory())
        hdfs = stack.enter_context(Hdfs()) if needs_hdfs else None
        counted = sum(run(name, scratch, hdfs=hdfs) for name in chosen)
    if counted:
        click.echo(describe_bound(counted))


if __name__ == "__main__":
    main()
