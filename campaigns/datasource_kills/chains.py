"""The chains of strikes, and how each ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from campaigns.datasource_kills.struck_source import SECOND
from campaigns.datasource_kills.world import KEPT, STAGED, World, make_world
from holdfast.spark_versions import SUPPORTED
from lab import Postgres
from lab.cluster import Cluster
from lab.scratch import scratch_directory
from lab.versions import OWN_VERSION, installation_of
from lab.warm_up import ensure_archive

GUARD = ("driver G2", "driver G4", "driver G5")
"""Strikes of a start; the others are of the batch that is to come."""
BATCH = (
    *("driver task-begin", "driver task-rows", "driver task-end"),
    *("driver S1", "jvm S2", "driver S3", "driver copying", "driver S4", "jvm S5", "driver S6"),
    *("raise S5", "raise S6", "worker task-rows", "worker task-end", "worker S4", "worker S6"),
    "driver S7",
)
SOME = ("driver G5", "driver task-end", "driver S4", "driver S6", "raise S5", "raise S6")
CHAINS: Mapping[str, tuple[Sequence[str], Mapping[str, Any]]] = {
    "staged": ((*GUARD, *BATCH), {"width": STAGED}),
    "kept": (SOME, {}),
    "merge": (SOME, {"width": STAGED, "options": {"keys": ["id"]}}),
}
"""The strikes of each chain, and its stream."""
CLUSTER = "cluster"
ON_CLUSTER = (
    *("worker task-begin", "worker task-rows", "worker task-end"),
    *("slow task-begin", "slow task-rows", "slow task-end"),
)
"""Tasks that run again, and tasks whose second copy is faster."""
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.multiplier": "1",
    "spark.speculation.quantile": "0.5",
}


def strike_all(world: World, strikes: Sequence[str]) -> str:
    """Strike a stream once at every point, and let it end; return what was shown.

    Raises:
        AssertionError: Rows are lost or duplicated, or a strike did not happen.
    """
    for _ in range(2):
        world.add()
    with world.reader():
        for strike in strikes:
            batch = world.last() + 1
            if batch >= len(world.files):
                world.add()
            is_of_start = strike in GUARD
            world.run(strike if is_of_start else f"{strike}@{batch}")
        world.add()
        world.run()
    assert world.last() == len(world.files) - 1, f"{world.last()} of {len(world.files)}"
    assert not world.stages(), world.stages()
    return f"{len(strikes)} strikes, {world.looks} looks of a reader, 0 lost, 0 duplicated"


def run_on_cluster(server: Postgres, directory: Path, *, width: int = STAGED) -> str:
    """Lose tasks on executors, and have others outrun by a second copy: the query goes on.

    Raises:
        AssertionError: Rows are lost or duplicated, or a strike did not happen.
    """
    world = make_world(server, directory, f"cluster_{width}", width=width)
    with Cluster() as cluster, world.reader():
        world.settings = {**cluster.settings(executors=world.told()), **SPECULATION}
        for strike in ON_CLUSTER:
            batch = world.add()
            assert world.run(f"{strike}@{batch}") == 0, strike
            assert world.last() == batch, strike
            is_slow = strike.startswith("slow ")
            assert (world.directory / SECOND).exists() == is_slow, "no second copy has ended"
        world.add()
        world.run()
    assert not world.stages(), world.stages()
    return f"{len(ON_CLUSTER)} strikes, {world.looks} looks of a reader, 0 lost, 0 duplicated"


def main(arguments: Sequence[str]) -> None:
    """Run the chains that are named, or all; on a version of Spark that is named among them."""
    versions = [each for each in arguments if each in SUPPORTED] or [OWN_VERSION]
    chains = [each for each in arguments if each not in SUPPORTED] or [*CHAINS, CLUSTER]
    with scratch_directory() as directory, Postgres() as server:
        for version in versions:
            installation = installation_of(version)
            ensure_archive(installation)
            for name in chains:
                if name == CLUSTER:
                    for width in (STAGED, KEPT):
                        shown = run_on_cluster(server, directory, width=width)
                        print(f"{name}, rows of {width:,} characters: {shown}", flush=True)
                    continue
                strikes, stream = CHAINS[name]
                world = make_world(
                    server,
                    directory,
                    f"{name}_{version.replace('.', '_')}",
                    installation=installation,
                    **stream,
                )
                shown = strike_all(world, strikes)
                print(f"Spark {version}, {name}: {shown}", flush=True)
