"""The one task that writes a large batch, killed, halted and cut off: every row exactly once.

`HOLDFAST_TASK_FAULTS=all` runs every scene and every kill; the gate draws some of the quick ones.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from campaigns.judging import assert_passed
from campaigns.task_faults.scenes import MARKS, QUICK, SCENES, kill_at
from campaigns.task_faults.workload import make_work
from lab import Postgres
from lab.cluster import Cluster
from tests.drawing import SEED

ALL = os.environ.get("HOLDFAST_TASK_FAULTS") == "all"
DRAWN = list(SCENES) if ALL else random.Random(SEED).sample(QUICK, 1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize("name", DRAWN)
def test_a_fault_of_the_task_loses_and_doubles_nothing(
    postgres: Postgres, cluster: Cluster, *, tmp_path: Path, name: str
) -> None:
    with make_work(postgres, tmp_path) as work:
        SCENES[name](work, cluster)


@pytest.mark.usefixtures("class_archive")
def test_it_is_exact_when_everything_is_killed_with_the_task(
    postgres: Postgres, *, tmp_path: Path, seed: int
) -> None:
    # In their order: what is committed does not come by an earlier mark again.
    drawn = MARKS if ALL else random.Random(seed).sample(MARKS, 2)
    marks = sorted(drawn, key=MARKS.index)
    with make_work(postgres, tmp_path) as work:
        assert_passed(kill_at(work, marks).checked)
