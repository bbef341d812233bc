"""The campaign of kills, on files alone: it kills for real, and it finds a planted fault."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from campaigns.repair_kills.killing import Killing, Share, Tally
from campaigns.repair_kills.scenes import SCENES, Scene
from campaigns.repair_kills.tables import Rows, Tables
from campaigns.repair_kills.world import BATCHES, State, World
from holdfast.apply.steps import files as file_steps
from holdfast.apply.stores import Stores

LINE = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'
BARE = [scene for scene in SCENES if "/" in scene.stream][:2]


class NoTables(Tables):
    """Those of a world without a database."""

    def keep(self, name: str) -> None:
        """Keep nothing."""

    def put_back(self, name: str) -> None:
        """Put nothing back."""

    def rows(self) -> Rows:
        return {}


class FileWorld(World):
    """A bare checkpoint, and no database."""

    def prepare(self) -> None:
        """Make what every case begins with."""
        home = self.home / "bare/readings"
        for log in ("offsets", "commits"):
            (home / log).mkdir(parents=True)
        (home / "metadata").write_text('{"id":"5a1f7e0a-55a1-4c6e-9d5c-0b7f1d1f0a01"}')
        for batch in range(BATCHES):
            entry = f'v1\n{LINE}\n{{"topic":{{"0":{batch}}}}}'
            (home / f"offsets/{batch}").write_text(entry)
            (home / f"commits/{batch}").write_text('v1\n{"nextBatchWatermarkMs":0}')
        self.keep()

    @property
    def tables(self) -> Tables:
        """None."""
        return NoTables("")


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def run(scene: Scene, tmp_path: Path, *, real: int) -> list[Tally]:
    world = FileWorld(home=tmp_path / "home", kept=tmp_path / "kept", dsn="")
    world.prepare()
    chance = random.Random(7)
    killing = Killing(world=world, stores=Stores(), scratch=tmp_path, chance=chance)
    return list(killing.run(scene, Share(real=real)))


@pytest.mark.parametrize("scene", BARE, ids=lambda scene: scene.name)
def test_every_point_is_killed_and_exact(scene: Scene, tmp_path: Path) -> None:
    for tally in run(scene, tmp_path, real=1):
        assert tally.differences == []
        assert (tally.kills, tally.real) == (tally.points, 1)
        assert tally.exact >= tally.points


def test_a_step_that_keeps_no_copy_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_steps, "_keep", lambda *_, **__: None)
    with pytest.raises(Exception, match="The copy that was kept is gone"):
        run(BARE[0], tmp_path, real=0)


def test_every_difference_of_two_states_is_told() -> None:
    one = State(files={"a": b"1", "b": b"2"}, rows={})
    other = State(files={"a": b"1", "b": b"3", "c": b""}, rows={})
    assert list(one.differences(other)) == ["b: b'2', then b'3'", "c: not there, then b''"]
