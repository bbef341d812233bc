"""Kills `apply` at every point of every goal, continues it, and compares with an unbroken run.

    python -m campaigns.repair_kills [--seed N] [--real N] [--twice N] [--points N] [--all]
        [--delta | --others] [--writes] [--only TEXT]

Every point of `apply` is a kill, and so is every point of the `undo` after it; with --writes also
every moment after a file was changed, within the copy of a directory too. Some of the kills
(`--real` of each goal, drawn by the seed; with --all every one) are SIGKILLs of a child process.
The others end `apply` within this process by an exception that nothing catches, and leave what a
process leaves that is gone: no lease is released. After each kill the plan is continued, in some
cases with a second kill within that. Then files, rows and ledger rows are compared with those of a
run that was not killed: all but times, epochs and nonces. Of a Delta table the rows are compared,
and its ledger row: whoever fences it again leaves one more commit.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import traceback
from pathlib import Path
from unittest.mock import patch

from campaigns.repair_kills.killing import Killing, Share, Tally
from campaigns.repair_kills.scenes import DELTA_SCENES, OTHER_SCENES, SCENES, Scene
from campaigns.repair_kills.telling import TellingStores
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
    parser.add_argument("--twice", type=int, default=4, help="second kills per goal and direction")
    parser.add_argument("--points", type=int, help="so many per goal and direction, not every one")
    parser.add_argument("--all", action="store_true", help="all SIGKILLs, all second kills")
    parser.add_argument("--delta", action="store_true", help="the goals that change Delta tables")
    parser.add_argument("--others", action="store_true", help="goals of hf.Files and SQLite")
    parser.add_argument("--writes", action="store_true", help="also after every change of a file")
    parser.add_argument("--only", default="", help="scenes whose name has this text")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    # What a process has written outlives it without a sync; those are for power cuts.
    with Postgres() as server, scratch_directory() as scratch, patch.object(os, "fsync"):
        failed = run(asked, scratch, server.create_database("repairs"))
    sys.exit(1 if failed else 0)


def run(asked: argparse.Namespace, scratch: Path, dsn: str) -> bool:
    """Run the scenes that were asked for; return whether any differed."""
    spark = start_session(scratch, {})
    session = spark if asked.delta else None
    home, kept = scratch / "home", scratch / "kept"
    world = World(home=home, kept=kept, dsn=dsn, session=session, has_others=asked.others)
    world.build(spark)
    kind = TellingStores if asked.writes else Stores
    stores = kind(session=lambda: spark) if asked.delta else kind()
    if not asked.delta:
        spark.stop()
    chance = random.Random(asked.seed)  # noqa: S311 - a drill
    killing = Killing(world=world, stores=stores, scratch=scratch, chance=chance)
    print(
        f"{'goal':38} {'way':6} {'points':>6} {'kills':>6} {'SIGKILL':>8} {'twice':>6} {'exact':>6}"
    )
    share = Share(real=asked.real, twice=asked.twice, everything=asked.all, points=asked.points)
    total: list[Tally] = []
    failed = 0
    for scene in DELTA_SCENES if asked.delta else OTHER_SCENES if asked.others else SCENES:
        if asked.only in scene.name:
            try:
                for tally in killing.run(scene, share):
                    show(tally, scene)
                    total.append(tally)
            except Exception:  # noqa: BLE001 - the others are run too
                failed += 1
                print(f"{scene.name}: failed\n{traceback.format_exc()}", flush=True)
    kills = sum(each.kills + each.twice for each in total)
    wrong = sum(len(each.differences) for each in total)
    print(
        f"{kills} kills, {sum(each.real for each in total)} of them SIGKILL; {wrong} differences; "
        f"{failed} goals failed"
    )
    return wrong + failed > 0


def show(tally: Tally, scene: Scene) -> None:
    """Print a line, and the first differences."""
    print(tally.line(scene.name), flush=True)
    for each in tally.differences[:5]:
        print(f"    {each}"[:2000], flush=True)


if __name__ == "__main__":
    main()
