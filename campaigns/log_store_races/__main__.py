"""`python -m campaigns.log_store_races [RACES] [PAUSED] [SEED]`.

Two drivers race for a version of a Delta table on S3, RACES (200) times. In PAUSED (20) of them the
first driver is paused with its commit on the way to the store, until the second has ended. In a
fifth both commits wait for each other there; the others start at once. Half of the time both are
one stream, with one application id.

Then the same with Delta's default LogStore, a fifth as often, and PAUSED paused ones.

A reader that knows nothing of either compares the table with what the drivers were told. With
Holdfast's LogStore no version has two winners and no row is lost; with the default this is counted.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from campaigns.log_store_races.race import Course, Tally, course, is_rivalry
from lab import S3
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

KINDS = {
    "at once": Course.at_once,
    "together": Course.together,
    "paused": Course.paused,
}


FIRST = 2
"""The number of the first race: the drivers' first two rows have those before."""


def run(s3: S3, place: Path, sizes: dict[str, int], *, ours: bool, seed: int) -> None:
    """Run the races with one LogStore, and print what became of them.

    Raises:
        AssertionError: With Holdfast's, two won, or the table is not what the drivers were told.
    """
    choose = random.Random(seed)  # noqa: S311 - it must be replayable
    name = "conditional put" if ours else "Delta's default"
    number = FIRST
    with course(s3, place, place.name, ours=ours) as pair:
        for kind, size in sizes.items():
            tally = Tally()
            for _ in range(size):
                told = KINDS[kind](pair, number, rivals=is_rivalry(choose))
                pair.judge(number, told, tally)
                number += 1
            both = sum(times for winners, times in tally.winners.items() if winners > 1)
            print(
                f"{name}, {kind}: {tally.races} races, one version won twice in {both}, "
                f"rows so far: {tally.replaced} lost, {tally.unexpected} unexpected",
                flush=True,
            )
            assert not ours or both + tally.replaced + tally.unexpected == 0, tally


def main(races: int, paused: int, seed: int) -> None:
    """Run the races with both LogStores."""
    ensure_archive()
    print(f"seed {seed}", flush=True)
    together = races // 5
    with S3() as s3, scratch_directory() as scratch:
        sizes = {"paused": paused, "together": together, "at once": races - together - paused}
        run(s3, scratch / "ours", sizes, ours=True, seed=seed)
        few = {kind: size if kind == "paused" else size // 5 for kind, size in sizes.items()}
        run(s3, scratch / "default", few, ours=False, seed=seed)


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    main(*(given + [200, 20, 1][len(given) :]))
