"""Tasks that fail and executors that die in the middle of a batch: every row exactly once.

Ten kills in every sink, on a standalone cluster: `python -m campaigns.executor_faults`.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from campaigns.executor_faults.faulty_tasks import EXECUTORS, KILLED, RAISED
from campaigns.executor_faults.runs import SINKS, make_work
from lab import Postgres

LOCAL = {"spark.master": f"local-cluster[{EXECUTORS},1,1024]"}


@pytest.mark.usefixtures("class_archive")
def test_a_task_that_fails_or_dies_with_its_executor_is_exact(
    postgres: Postgres, *, tmp_path: Path, seed: int
) -> None:
    sink = random.Random(seed).choice(list(SINKS))
    with make_work(postgres, tmp_path, sink=sink, faults=[RAISED, KILLED]) as work:
        struck = work.run(LOCAL)
    assert (struck.kills, struck.wrong) == (1, [])
