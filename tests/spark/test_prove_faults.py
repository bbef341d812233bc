"""A sample of the faults that `python -m campaigns.prove_faults` plants, drawn by the seed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaigns.prove_faults.faults import ROW_FAULTS
from campaigns.prove_faults.play import KINDS, make_table, play
from lab import Postgres

pytestmark = pytest.mark.sampled(1)
"""`HOLDFAST_ALL=1` plays all four tables."""


@pytest.mark.parametrize("kind", KINDS)
def test_no_fault_is_missed_and_no_alarm_is_false(
    kind: str, spark: SparkSession, *, postgres: Postgres, tmp_path: Path, seed: int
) -> None:
    table = make_table(kind, spark=spark, postgres=postgres, home=tmp_path)
    faults = random.Random(seed).sample(ROW_FAULTS, 2)
    found = list(play(kind, table, table.plants, faults=faults))
    assert [each for each in found if each.wrong] == []
    assert len(found) == len(table.plants) + 2 + len(faults)
