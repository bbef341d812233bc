"""Tasks that fail and executors that die in the middle of a batch: every row exactly once.

Every sink on both kinds of cluster is `python -m campaigns.executor_faults`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from campaigns.executor_faults.faulty_tasks import KILLED, RAISED, SINKS
from campaigns.executor_faults.runs import local_settings, make_work
from lab import Postgres


@pytest.mark.usefixtures("class_archive")
def test_a_task_that_fails_or_dies_with_its_executor_is_exact(
    postgres: Postgres, *, tmp_path: Path, seed: int
) -> None:
    sinks = [random.Random(seed).choice(list(SINKS))]
    work = make_work(postgres, tmp_path / "work", [RAISED, KILLED], sinks=sinks)
    work.run(local_settings(work.dsn))
