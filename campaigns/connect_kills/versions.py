"""Guarded streams on Spark Connect of the other versions of Spark: a short chain of each stream."""

from __future__ import annotations

import time
from pathlib import Path

import click

from campaigns.connect_kills.client import APPENDED, COUNTS, LAKE
from campaigns.connect_kills.kills import THREE, run
from campaigns.connect_kills.world import World
from lab import Postgres
from lab.versions import OTHER_VERSIONS, installation_of
from lab.warm_up import ensure_archive

VERSIONS = tuple(each for each in OTHER_VERSIONS if not each.startswith("3."))
"""Those that have Connect as it is used here."""
SHORT = {APPENDED: ("copying", "S6"), COUNTS: ("copying", "S6"), LAKE: ("S3", "sink-written")}
"""Where each stream is struck: before a commit and after it."""


def run_on(version: str, postgres: Postgres, directory: Path, *, rounds: int = 1) -> int:
    """Kill client, worker and server of each kind of stream on another Spark; return the kills."""
    installation = installation_of(version)
    ensure_archive(installation)
    kills = 0
    for shape, points in SHORT.items():
        if shape == LAKE and not installation.has_delta:
            click.echo(f"Spark {version}, {shape}: not run, there is no Delta for it")
            continue
        began, count = time.monotonic(), 0
        with World(postgres, directory / shape, shape, installation=installation) as world:
            for victim, point, told in run(world, THREE * rounds, points):
                count += 1
                click.echo(f"  Spark {version}, {shape}: {victim} killed at {point}: {told}")
            assert world.versions_run() == {version}
        kills += count
        click.echo(
            f"Spark {version}, {shape}: {count} kills, {world.files} batches exact, 0 lost, "
            f"0 duplicated; {world.looks:,} looks; {time.monotonic() - began:.0f} s"
        )
    return kills
