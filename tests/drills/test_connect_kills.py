"""Guarded streams on Spark Connect: one kill of each process, drawn by the seed; all rows exact.

All of them are `python -m campaigns.connect_kills`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from campaigns.connect_kills.client import APPENDED, COUNTS
from campaigns.connect_kills.kills import CLIENT, POINTS, SERVER, WORKER, run
from campaigns.connect_kills.world import World
from lab import Postgres


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", [APPENDED, COUNTS])
@pytest.mark.parametrize("victim", [CLIENT, WORKER, SERVER])
@pytest.mark.usefixtures("class_archive")
def test_who_dies_leaves_every_row_once(
    postgres: Postgres, *, tmp_path: Path, seed: int, victim: str, shape: str
) -> None:
    point = random.Random(seed).choice(POINTS)
    with World(postgres, tmp_path / "world", shape) as world:
        assert [told[:2] for told in run(world, [victim], [point])] == [(victim, point)]
    assert world.looks, "the reader never looked"
