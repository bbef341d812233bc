"""`apply` and `undo`, killed, end as if they had not been: a sample of goals and points.

`HOLDFAST_ALL=1` runs every goal of one stream and every point, `python -m campaigns.repair_kills`
also several streams and Delta.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import psycopg
import pytest
from msgspec.structs import replace

from campaigns.repair_kills.killing import Killing, Share, Tally
from campaigns.repair_kills.scenes import SCENES, Scene
from campaigns.repair_kills.telling import TellingStores
from campaigns.repair_kills.world import DSN
from holdfast.apply.stores import Stores
from holdfast.sinks.postgres.settle import Settling
from lab import Postgres
from tests.drawing import ALL
from tests.drills.repair_world import WrittenWorld

POINTS = 8
ONE_STREAM = [scene for scene in SCENES if scene.stream == "readings" or "/" in scene.stream]
TRUNCATE = next(scene for scene in SCENES if scene.name == "reset: truncate")


@pytest.fixture(scope="module")
def world(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WrittenWorld]:
    with pytest.MonkeyPatch.context() as patch:
        dsn = postgres.create_database("repair_kills")
        patch.setenv(DSN, dsn)
        patch.setattr(os, "fsync", lambda _: None)
        home = tmp_path_factory.mktemp("repairs")
        found = WrittenWorld(home=home / "home", kept=home / "kept", dsn=dsn)
        found.write()
        yield found


def kill(scene: Scene, world: WrittenWorld, stores: Stores, *, share: Share) -> Iterator[Tally]:
    chance = random.Random(f"{os.environ['HOLDFAST_SEED']} {scene.name}")
    killing = Killing(world=world, stores=stores, scratch=world.kept, chance=chance)
    return killing.run(scene, share)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scene", ONE_STREAM, ids=lambda scene: scene.name)
def test_a_killed_plan_and_its_undo_end_as_if_they_had_not_been(
    scene: Scene, world: WrittenWorld
) -> None:
    share = Share(real=1, points=None if ALL else POINTS)
    for tally in kill(scene, world, TellingStores(), share=share):
        assert not tally.differences, (tally.way, tally.differences[:3])
        assert tally.real == 1
        assert tally.exact == tally.kills + tally.twice >= (tally.points if ALL else 2)


def test_a_table_that_is_emptied_before_its_row_is_set_is_found(
    world: WrittenWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = Settling._empty

    def empty_at_once(self: Settling, kept: str) -> int:
        with psycopg.connect(world.dsn) as other:
            return empty(replace(self, connection=other), kept)

    monkeypatch.setattr(Settling, "_empty", empty_at_once)
    forward = next(kill(TRUNCATE, world, Stores(), share=Share(real=0)))
    assert forward.exact < forward.kills + forward.twice
    said = ("already exists", "rows have changed since the plan was made")
    for each in forward.differences:
        assert any(text in each for text in said), each
