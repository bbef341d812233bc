"""Guarded streams on Spark Connect: one kill of a process, drawn by the seed; all rows exact.

All of them are `python -m campaigns.connect_kills`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from campaigns.connect_kills.client import APPENDED, COUNTS
from campaigns.connect_kills.kills import (
    CUT,
    EXECUTOR,
    PAUSED,
    POINTS,
    SERVER,
    TASK,
    THREE,
    WORKER,
    run,
)
from campaigns.connect_kills.owners import leave, take_over
from campaigns.connect_kills.races import race
from campaigns.connect_kills.versions import VERSIONS
from campaigns.connect_kills.world import World
from lab import Postgres
from lab.versions import installation_of
from lab.warm_up import ensure_archive


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", [APPENDED, COUNTS])
@pytest.mark.parametrize("victim", [*THREE, PAUSED, CUT])
@pytest.mark.usefixtures("class_archive")
def test_who_dies_leaves_every_row_once(
    postgres: Postgres, *, tmp_path: Path, seed: int, victim: str, shape: str
) -> None:
    point = random.Random(seed).choice(POINTS)
    with World(postgres, tmp_path / "world", shape) as world:
        assert [told[:2] for told in run(world, [victim], [point])] == [(victim, point)]
    assert world.looks, "the reader never looked"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_stream_with_state_is_exact_on_another_version(
    postgres: Postgres, *, tmp_path: Path, seed: int, version: str
) -> None:
    point = random.Random(seed).choice(POINTS)
    installation = installation_of(version)
    ensure_archive(installation)
    with World(postgres, tmp_path / "world", COUNTS, installation=installation) as world:
        assert len(list(run(world, [WORKER, SERVER], [point]))) == 2
        assert world.versions_run() == {version}


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("class_archive")
def test_a_task_that_loses_its_executor_runs_again(postgres: Postgres, tmp_path: Path) -> None:
    with World(postgres, tmp_path / "world", COUNTS, has_executors=True) as world:
        assert list(run(world, [EXECUTOR], [TASK])) == [(EXECUTOR, TASK, "the task ran again")]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "compete",
    [
        leave,
        take_over,
        partial(race, times=3),
        partial(race, times=3, options="takeover"),
    ],
    ids=["left", "taken over", "two at once", "two that take over"],
)
@pytest.mark.usefixtures("class_archive")
def test_a_stream_has_one_owner(
    postgres: Postgres, tmp_path: Path, compete: Callable[[Postgres, Path], int]
) -> None:
    compete(postgres, tmp_path / "world")  # it raises where a row is lost or doubled
