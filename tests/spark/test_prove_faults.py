"""A sample of the faults that `prove_faults` and `prove_state` plant, drawn by the seed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from campaigns.prove_faults.faults import ROW_FAULTS
from campaigns.prove_faults.play import KINDS, make_table, play
from campaigns.prove_state.faults import FAULTS
from campaigns.prove_state.operators import OPERATORS
from campaigns.prove_state.play import Stage, play_faults
from holdfast.proof.values import ProofVerdict
from lab import Postgres

pytestmark = pytest.mark.sampled(1)
"""`HOLDFAST_ALL=1` plays all tables and all operators."""


@pytest.mark.parametrize("kind", KINDS)
def test_no_fault_is_missed_and_no_alarm_is_false(
    kind: str, spark: SparkSession, *, postgres: Postgres, tmp_path: Path, seed: int
) -> None:
    table = make_table(kind, spark=spark, postgres=postgres, home=tmp_path)
    faults = random.Random(seed).sample(ROW_FAULTS, 2)
    found = list(play(kind, table, table.plants, faults=faults))
    assert [each for each in found if each.wrong] == []
    assert len(found) == len(table.plants) + 2 + len(faults)


@pytest.mark.parametrize("operator", list(OPERATORS))
def test_no_fault_of_an_operator_with_state_is_missed(
    operator: str, spark: SparkSession, *, tmp_path: Path, seed: int
) -> None:
    stage = Stage(spark=spark, home=tmp_path)
    stage.prepare()
    faults = random.Random(seed).sample(FAULTS[operator], 2)
    found = list(play_faults(stage, (operator,), seed=1, only=tuple(faults)))
    assert [each for each in found if each.wrong] == []
    assert [each.what for each in found] == ["untouched", *(each.label for each in faults)]
    assert found[0].proof.verdict is ProofVerdict.EXACT
