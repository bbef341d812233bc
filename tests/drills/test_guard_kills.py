"""A guarded stream killed between its steps: nothing lost, nothing doubled.

Both chains whole are `python -m benchmarks.guard_kills`; here the appended one runs whole, and of
the merged one a sample.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.guard_kills import POINTS, kill_all, make_workload
from lab import Kafka, Postgres
from lab.kill import Named, Point

SAMPLE = 6


@pytest.mark.usefixtures("class_archive")
def test_appending_is_exact_under_every_kill(
    kafka: Kafka, postgres: Postgres, tmp_path: Path
) -> None:
    links = kill_all(make_workload(kafka, postgres, keyed=False), tmp_path, POINTS)
    assert [link.ended.fired for link in links] == [*map(str, POINTS), None]


@pytest.mark.usefixtures("class_archive")
def test_merging_is_exact_under_a_sample_of_kills(
    kafka: Kafka, postgres: Postgres, *, tmp_path: Path, seed: int
) -> None:
    # What moves an orphan aside is reached only after the kill that leaves one.
    drawn = random.Random(seed).sample(range(len(POINTS)), SAMPLE)
    points: list[Point] = [
        POINTS[place] for place in sorted(drawn) if POINTS[place] != Named("orphan-copied")
    ]
    links = kill_all(make_workload(kafka, postgres, keyed=True), tmp_path, points)
    assert [link.ended.fired for link in links] == [*map(str, points), None]
