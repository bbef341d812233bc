"""The damage table of the docs, sampled: one scenario that duplicates, and one more.

The whole table is `python -m campaigns.restart_damage`; what is played here must give the very
cells that the page shows. Of the guarded column one is played.
"""

from __future__ import annotations

import random

import pytest
from pyspark.sql import SparkSession

from campaigns.restart_damage.runs import Servers
from campaigns.restart_damage.scenarios import SCENARIOS, Scenario, markdown_row, play, play_guarded
from lab import Kafka, Postgres
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/explanation/what-a-restart-does.md").read_text()
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
WAITS_FOR_A_LEASE = "jdbc-append-two-drivers"
"""Half a minute; `tests/drills/test_zombies.py` has it."""


@pytest.fixture(scope="module")
def servers(spark: SparkSession, kafka: Kafka, postgres: Postgres) -> Servers:
    return Servers(kafka=kafka, postgres=postgres, spark=spark)


@pytest.fixture(params=["jdbc-append-killed", "by-seed"])
def scenario(request: pytest.FixtureRequest, seed: int) -> Scenario:
    others = sorted(BY_NAME.keys() - {"jdbc-append-killed"})
    name = request.param
    return BY_NAME[random.Random(seed).choice(others) if name == "by-seed" else name]


def test_a_restart_does_the_damage_that_the_page_shows(
    scenario: Scenario, servers: Servers
) -> None:
    plain = markdown_row(scenario, play(scenario, servers, seed=1), guarded="")
    assert plain.removesuffix(" |").rstrip() in PAGE


def test_a_guarded_restart_ends_as_the_page_shows(servers: Servers, seed: int) -> None:
    scenario = BY_NAME[random.Random(seed).choice(sorted(BY_NAME.keys() - {WAITS_FOR_A_LEASE}))]
    shown = next(
        line.split("|")[-2].strip()
        for line in PAGE.splitlines()
        if line.startswith(f"| {scenario.written} | {scenario.happens} |")
    )
    assert play_guarded(scenario, servers, seed=1) == shown
