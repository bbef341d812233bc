"""A backfill that is killed in every phase of its chunks, and started again: exact at the end."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from holdfast.drills.kill import Driver, Named
from lab.spark import environment
from tests.spark import backfill_pipeline
from tests.spark.backfill_gap import Gap

pytestmark = pytest.mark.sampled(1)
"""Minutes each: `HOLDFAST_ALL=1` runs them."""

CHAINS = {
    "before-the-first-chunk": ("B1", "fenced", "B2", "B3", "S3"),
    # Delta has committed; PostgreSQL has copied, is about to commit, has committed.
    "every-commit-of-a-chunk": ("S6", "S4", "S5", "S6"),
    # Between the sinks, between two chunks, and in the last chunk.
    "between-sinks-and-chunks": ("sink-written", "B4", "S6", "S5", "S6"),
}
"""Each point is where the next run dies; that run goes on where the one before was killed."""


@pytest.mark.parametrize("points", CHAINS.values(), ids=list(CHAINS))
def test_killed_and_started_again(gap: Gap, tmp_path: Path, points: tuple[str, ...]) -> None:
    gap.began(range(20), range(20, 30))
    asked = {"start": "earliest", "end": gap.offsets(10, 10), "chunk": 7}
    driver = Driver(
        [backfill_pipeline.__file__, json.dumps({**gap.config, **asked})],
        environment={
            **environment(tmp_path / "spark", {}),
            "BACKFILL_DSN": os.environ["BACKFILL_DSN"],
        },
        directory=tmp_path / "runs",
    )
    expected = Counter(range(30))
    for point in points:
        driver.run_until_killed(Named(point, 1))
        for held in (gap.in_delta(), gap.in_postgres()):
            assert held <= expected, (point, held - expected)
            assert len(held) in (10, 16, 22, 30), (point, held)
    driver.run_to_end()
    assert gap.in_delta() == gap.in_postgres() == expected
