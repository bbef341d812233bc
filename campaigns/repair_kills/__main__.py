"""Kills `apply` at every point of every goal, continues it, and compares with an unbroken run.

    python -m campaigns.repair_kills [--seed N] [--real N] [--all] [--delta] [--only TEXT]

Every point of `apply` is a kill, and so is every point of the `undo` after it. Some of the kills
(`--real` of each goal, drawn by the seed; with --all every one) are SIGKILLs of a child process.
The others end `apply` within this process by an exception that nothing catches, and leave what a
process leaves that is gone: no lease is released. After each kill the plan is continued, in some
cases with a second kill within that. Then files, rows and ledger rows are compared with those of a
run that was not killed: all but times, epochs and nonces.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from pathlib import Path
from unittest.mock import patch

from campaigns.repair_kills.killing import Killing, Tally
from campaigns.repair_kills.scenes import DELTA_SCENES, SCENES
from campaigns.repair_kills.world import World
from holdfast.apply.stores import Stores
from lab import Postgres
from lab.scratch import scratch_directory
from lab.spark import start_session


def main() -> None:
    """Run every scene, print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=20260101)
    parser.add_argument("--real", type=int, default=2, help="SIGKILLs per goal and direction")
    parser.add_argument("--all", action="store_true", help="all SIGKILLs, all second kills")
    parser.add_argument("--delta", action="store_true", help="the goals that change Delta tables")
    parser.add_argument("--only", default="", help="scenes whose name has this text")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    # What a process has written outlives it without a sync; those are for power cuts.
    with Postgres() as server, scratch_directory() as scratch, patch.object(os, "fsync"):
        failed = run(asked, scratch, server.create_database("repairs"))
    sys.exit(1 if failed else 0)


def run(asked: argparse.Namespace, scratch: Path, dsn: str) -> bool:
    """Run the scenes that were asked for; return whether any differed."""
    world = World(home=scratch / "home", kept=scratch / "kept", dsn=dsn)
    spark = start_session(scratch, {})
    world.build(spark)
    if not asked.delta:
        spark.stop()
    stores = Stores(session=lambda: spark)
    chance = random.Random(asked.seed)  # noqa: S311 - a drill
    killing = Killing(world=world, stores=stores, scratch=scratch, chance=chance)
    print(
        f"{'goal':36} {'way':6} {'points':>6} {'kills':>6} {'SIGKILL':>8} {'twice':>6} {'exact':>6}"
    )
    total: list[Tally] = []
    for scene in DELTA_SCENES if asked.delta else SCENES:
        if asked.only in scene.name:
            for tally in killing.run(scene, real=asked.real, everything=asked.all):
                print(tally.line(scene.name), flush=True)
                for each in tally.differences[:5]:
                    print(f"    {each}"[:1000], flush=True)
                total.append(tally)
    kills = sum(each.kills + each.twice for each in total)
    wrong = sum(len(each.differences) for each in total)
    print(f"{kills} kills, {sum(each.real for each in total)} of them SIGKILL; {wrong} differences")
    return wrong > 0


if __name__ == "__main__":
    main()
