"""A guarded stream into Delta killed between its steps: nothing lost or duplicated, nothing torn.

The chains whole are `python -m campaigns.kills`; here a sample of some of them runs.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from campaigns.judging import assert_passed
from campaigns.kills.delta import CHAINS, run
from campaigns.outcome import looks_of
from holdfast.drills.history import History
from lab import S3

SAMPLES = {"delta-append-on-s3": 2, "delta-merge-on-s3": 2}
"""On disk the built-in drills run."""


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize("name", SAMPLES)
def test_it_is_exact_under_a_sample_of_kills(
    s3: S3, name: str, *, tmp_path: Path, seed: int
) -> None:
    whole = CHAINS[name]
    places = sorted(random.Random(seed).sample(range(len(whole.points)), SAMPLES[name]))
    chain = replace(whole, points=[whole.points[place] for place in places])
    drilled = run(name, chain, tmp_path / "stream", s3=s3)
    assert_passed(drilled.checked)
    assert looks_of(History(drilled.directory))
