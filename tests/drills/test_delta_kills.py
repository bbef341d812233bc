"""A guarded stream into Delta killed between its steps: nothing lost or doubled.

The chains whole are `python -m benchmarks.delta_kills`; here a sample of two of them runs.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.delta_kills import CHAINS, POINTS, run

SAMPLES = {"appended": 4, "counts-rocksdb-format-2": 3}


@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize("name", SAMPLES)
def test_it_is_exact_under_a_sample_of_kills(name: str, *, tmp_path: Path, seed: int) -> None:
    places = sorted(random.Random(seed).sample(range(len(POINTS)), SAMPLES[name]))
    chain = replace(CHAINS[name], points=[POINTS[place] for place in places])
    _, links = run(chain, tmp_path)
    assert [link.ended.fired for link in links] == [*map(str, chain.points), None]
