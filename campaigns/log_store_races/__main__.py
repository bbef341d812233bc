"""Drivers that commit to one Delta table on S3, with Holdfast's LogStore and with Delta's default.

    python -m campaigns.log_store_races [races|streams|answers]...

`races`: two drivers race for a version, 200 times. In 20 of the races the first driver is paused
with its commit on the way to the store, until the second has ended. In a fifth both commits wait
for each other there; the others start at once. Half of the time both are one stream, with one
application id. Then the same with Delta's default LogStore, a fifth as often, and as many paused
ones. A reader that knows nothing of either compares the table with what the drivers were told.
With Holdfast's LogStore no version has two winners and no row is lost; with the default this is
counted.

`streams`: a guarded stream is paused past its lease in each of its first commits, replaced by a
second driver, and resumed.

`answers`: every commit of a guarded stream gets another answer than the store's: none, 409 or 500.
"""

from __future__ import annotations

import random
from pathlib import Path

import click

from campaigns.log_store_races.race import Course, Tally, course, is_rivalry
from campaigns.log_store_races.streams import ANSWERS, COMMITS, change_answers, pause_in_commit
from lab import S3
from lab.scratch import scratch_directory
from lab.warm_up import ensure_archive

KINDS = {
    "at once": Course.at_once,
    "together": Course.together,
    "paused": Course.paused,
}
PARTS = ("races", "streams", "answers")
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


def run_races(s3: S3, scratch: Path, *, races: int, paused: int, seed: int) -> None:
    """Run the races with both LogStores."""
    print(f"seed {seed}", flush=True)
    together = races // 5
    sizes = {"paused": paused, "together": together, "at once": races - together - paused}
    run(s3, scratch / "ours", sizes, ours=True, seed=seed)
    few = {kind: size if kind == "paused" else size // 5 for kind, size in sizes.items()}
    run(s3, scratch / "default", few, ours=False, seed=seed)


@click.command(help=__doc__)
@click.argument("parts", metavar="[PART]...", nargs=-1, type=click.Choice(PARTS))
@click.option("--races", default=200, show_default=True)
@click.option("--paused", default=20, show_default=True, help="Of the races.")
@click.option("--seed", default=1, show_default=True, help="What is drawn.")
def main(parts: tuple[str, ...], *, races: int, paused: int, seed: int) -> None:
    """Run what is asked for, or all."""
    ensure_archive()
    asked = parts or PARTS
    with S3() as s3, scratch_directory() as scratch:
        if "streams" in asked:
            for version in COMMITS:
                print(pause_in_commit(version, s3, scratch / f"paused-{version}"), flush=True)
        if "answers" in asked:
            for name in ANSWERS:
                print(change_answers(name, s3, scratch / name.replace(" ", "-")), flush=True)
        if "races" in asked:
            run_races(s3, scratch, races=races, paused=paused, seed=seed)


if __name__ == "__main__":
    main()
