"""Plans on real parts: a sample of the kills, and worlds that have moved since a plan was made."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from pyspark.sql import SparkSession

from campaigns.repair_kills.killing import Killing, Share
from campaigns.repair_kills.scenes import SCENES, Scene
from campaigns.repair_kills.world import World
from holdfast.apply.apply import apply_plan
from holdfast.apply.errors import StalePlanError
from holdfast.apply.stores import Stores
from holdfast.plan.requests import Request
from lab import Postgres

pytestmark = pytest.mark.sampled(1)
"""Minutes: `HOLDFAST_ALL=1` runs them, and `python -m campaigns.repair_kills` more."""

Move = Callable[[World, SparkSession], object]
READINGS = Scene(name="", request=Request(goal="reset", start="here", output="keep-from-here"))
RAW = Scene(name="", stream="raw", request=Request(goal="replay", output="restore", cascade=True))


@pytest.fixture(scope="module")
def world(
    spark: SparkSession, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> World:
    home = tmp_path_factory.mktemp("repairs")
    dsn = postgres.create_database("repairs")
    found = World(home=home / "home", kept=home / "kept", dsn=dsn)
    found.build(spark)
    return found


def test_a_killed_plan_and_its_undo_end_as_if_it_had_not_been(
    world: World, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    killing = Killing(world=world, stores=Stores(), scratch=tmp_path, chance=chance)
    for scene in chance.sample(SCENES, 1):
        for tally in killing.run(scene, Share(real=1)):
            assert not tally.differences, (scene.name, tally.way, tally.differences[:3])
            assert tally.exact >= tally.points > 0


def query(world: World, text: str) -> None:
    with psycopg.connect(world.dsn) as connection:
        connection.execute(text.encode())


def advance_row(world: World, spark: SparkSession) -> None:
    """Leave what a batch leaves in the ledger."""
    del spark
    query(world, "update holdfast.ledger set last_batch = 4 where stream = 'readings'")


def lose_row(world: World, spark: SparkSession) -> None:
    del spark
    query(world, "delete from holdfast.ledger where stream = 'readings'")


def empty_table(world: World, spark: SparkSession) -> None:
    del spark
    query(world, "truncate readings")


def restore_table(world: World, spark: SparkSession) -> None:
    """Put the same rows back, as a restored backup does."""
    del spark
    query(world, "truncate readings")
    query(world, "insert into readings table built.public_readings")


def lose_table(world: World, spark: SparkSession) -> None:
    del spark
    query(world, "alter table readings rename to readings_old")


def delete_from_delta(world: World, spark: SparkSession) -> None:
    spark.sql(f"DELETE FROM delta.`{world.home}/lake/raw` WHERE value = 'row 1'")


def restore_delta(world: World, spark: SparkSession) -> None:
    spark.sql(f"RESTORE TABLE delta.`{world.home}/lake/raw` TO VERSION AS OF 1")


MOVES: dict[Move, tuple[Scene, str]] = {
    advance_row: (READINGS, "The ledger row of readings in readings has changed: it is at batch 4"),
    lose_row: (READINGS, "The ledger row of readings in readings has changed: it is gone"),
    empty_table: (READINGS, "The table of the sink readings has changed"),
    restore_table: (READINGS, "The table of the sink readings has changed"),
    lose_table: (READINGS, "The table of the sink readings has changed"),
    delete_from_delta: (RAW, "The table of the sink raw has changed"),
    restore_delta: (RAW, "The table of the sink raw has changed"),
}
"""What changes a sink behind a plan, the plan, and what `apply` says then."""


@pytest.mark.parametrize("move", MOVES, ids=lambda each: each.__name__)
def test_a_sink_that_has_moved_makes_a_plan_stale(
    move: Move, *, world: World, spark: SparkSession
) -> None:
    scene, said = MOVES[move]
    world.put_back()
    plan = scene.plan(world)
    try:
        move(world, spark)
        before = world.look()
        stores = Stores(session=lambda: spark)
        with pytest.raises(StalePlanError) as stale:
            apply_plan(plan, stores, allowed=set(plan.words))
        assert said in stale.value.why
        assert list(before.differences(world.look())) == []
    finally:
        query(world, "alter table if exists readings_old rename to readings")
