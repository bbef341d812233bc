"""Kills all operators at once, again and again, and proves each table after the last run."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import click

from campaigns.prove_state import driver
from campaigns.prove_state.data import write_file
from campaigns.prove_state.operators import OPERATORS
from campaigns.prove_state.play import Played, Stage
from holdfast.drills.errors import KillDidNotFireError
from holdfast.drills.kill import Driver, Named
from lab.spark import environment

POINTS = ("G5", "G6", "S1", "S2", "S3", "S6", "sink-written", "S7")
ROWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Kills:
    """How often, and by which seed."""

    count: int
    seed: int


def play_kills(stage: Stage, names: tuple[str, ...], kills: Kills) -> Iterator[Played]:
    """Kill the driver of all streams at drawn points; yield what a proof says of each table."""
    home = stage.open("kills")
    choose = random.Random(f"kills {kills.seed}")  # noqa: S311 - it must be replayable
    driven = Driver(
        [driver.__file__, str(home), *names],
        environment=environment(home / "spark", {"spark.sql.shuffle.partitions": "1"}),
        directory=home / "runs",
        seconds=400,
    )
    struck = 0
    number = 0
    while struck < kills.count:
        write_file(home, number, choose, rows=ROWS)
        number += 1
        point = Named(choose.choice(POINTS), choose.randint(1, len(names)))
        try:
            ended = driven.run_until_killed(point)
        except KillDidNotFireError as error:
            click.echo(f"not killed: {error.what}", err=True)
            continue
        struck += 1
        click.echo(f"kill {struck}: SIGKILL at {point} ({ended.wall_seconds:.0f} s)", err=True)
    write_file(home, number, choose, rows=ROWS)
    driven.run_to_end()
    for name in names:
        yield Played(operator=name, what="untouched", proof=stage.prove(OPERATORS[name], home))
