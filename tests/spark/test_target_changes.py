"""Whatever happens to the table of a stream, nothing is lost or duplicated in silence."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from campaigns.target_changes.cells import EXACT, Cell, Change, Table, When
from campaigns.target_changes.matrix import CELLS, POSTGRES, choose
from campaigns.target_changes.player import Played, play_cell
from campaigns.target_changes.rows import Row, append, project, rows_of
from campaigns.target_changes.stage import play
from holdfast.sinks.delta.ledger import DeltaLedgerStore
from holdfast.sinks.postgres import write
from holdfast.sinks.postgres.look import Look, look_under_lock
from lab import Postgres

Stage = Callable[[Cell], Played]
OF_DELTA = ("TRUNCATE TABLE", "DELETE of every row", "RESTORE to the current version")
PLAYED = [
    cell
    for cell in CELLS
    if (cell.change.setup != "server" or cell.when is not When.DURING)
    and (cell.kind == POSTGRES or cell.change.name in OF_DELTA)
]
"""A server that dies during a batch takes the player's session too: `test_server_kills` has it.
Of Delta's cells, a few: all are `python -m campaigns.target_changes --kind delta`."""


@pytest.fixture
def on_stage(spark: SparkSession, postgres: Postgres, tmp_path: Path) -> Stage:
    return partial(play, spark=spark, server=postgres, directory=tmp_path / "cell")


def named(name: str, **change: Any) -> Cell:
    """Return a cell, with a change that differs from its own."""
    (cell,) = [each for each in CELLS if each.name == name]
    return dataclasses.replace(cell, change=dataclasses.replace(cell.change, **change))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("cell", PLAYED, ids=[cell.name for cell in PLAYED])
def test_a_changed_table_ends_as_declared(cell: Cell, on_stage: Stage) -> None:
    assert not on_stage(cell).wrong


def test_a_postgres_sink_that_does_not_look_is_found(
    on_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_away(*given: Any) -> Look:
        return replace(look_under_lock(*given), changed=None)

    monkeypatch.setattr(write, "look_under_lock", look_away)
    played = on_stage(named("postgres/appended/TRUNCATE/running"))
    assert played.steps[0] == "arrived"
    assert played.wrong


def test_a_delta_sink_that_does_not_look_is_found(
    on_stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeltaLedgerStore, "find_change", lambda *_: None)
    played = on_stage(named("delta/appended/TRUNCATE TABLE/running"))
    assert played.steps == ("arrived", "starts", "arrived")
    assert played.wrong


@pytest.mark.parametrize(
    ("statement", "found"),
    {
        "lost": ("DELETE FROM readings WHERE id = 1", "1 are missing, 0 are duplicated"),
        "duplicated": (
            "INSERT INTO readings SELECT * FROM readings WHERE id = 1",
            "0 are missing, 1 are duplicated, 0 are unexpected",
        ),
        "changed": (
            "UPDATE readings SET note = 'x' WHERE id = 1",
            "1 are missing, 0 are duplicated, 1 are unexpected",
        ),
    }.values(),
    ids=["lost", "duplicated", "changed"],
)
def test_one_row_that_should_not_differ_is_found(
    on_stage: Stage, statement: str, found: str
) -> None:
    played = on_stage(named("postgres/appended/VACUUM/stopped", act=(statement,)))
    assert found in played.wrong[0]


class Query:
    """A query whose batches after the change are refused."""

    def __init__(self, scene: FakeScene) -> None:
        self._scene = scene

    def processAllAvailable(self) -> None:  # noqa: N802 - Spark's own word
        scene = self._scene
        if not scene.is_acted:
            scene.rows = [*append(scene.rows, rows_of(scene.batch))]
            return
        scene.rows = [*scene.rows, *rows_of(scene.batch)[: scene.leaked]]
        if scene.code:
            logging.getLogger("holdfast").error("holdfast: %s and why", scene.code)
        raise StreamingQueryException("refused", "")

    def stop(self) -> None: ...


class FakeScene:
    """A table in memory, and a sink that refuses a batch after some of its rows."""

    def __init__(self, *, leaked: int = 0, code: str = "TABLE_CHANGED") -> None:
        self.leaked = leaked
        self.code = code
        self.rows: list[Row] = []
        self.batch = -1
        self.is_acted = False

    def start(self) -> Query:
        return Query(self)

    def add(self, batch: int) -> None:
        self.batch = batch

    def act(self) -> None:
        self.is_acted = True

    def is_waiting(self) -> bool:
        return False

    def release(self) -> None: ...

    def find(self, table: str) -> tuple[Sequence[str], list[tuple[object, ...]]]:
        del table
        return Row._fields, project(self.rows, Row._fields)

    def snapshot(self) -> object:
        return list(self.rows)


def play_fake(scene: FakeScene) -> Played:
    refused = dataclasses.replace(EXACT, running="TABLE_CHANGED starts TABLE_CHANGED")
    change = Change(name="nothing", act=(), appended=refused)
    return play_cell(
        Cell(kind=POSTGRES, change=change, table=Table.APPENDED, when=When.RUNNING), scene
    )


def test_a_refusal_that_writes_nothing_is_right() -> None:
    assert not play_fake(FakeScene()).wrong


def test_a_refusal_that_has_written_some_rows_is_found() -> None:
    assert "TABLE_CHANGED wrote something" in play_fake(FakeScene(leaked=1)).wrong


def test_an_error_without_a_code_is_found() -> None:
    played = play_fake(FakeScene(code=""))
    assert played.steps[0].startswith("UNCODED:")
    assert played.wrong


def test_a_sample_is_drawn_by_its_seed() -> None:
    assert choose(None, "", seed=1, sample=5) == choose(None, "", seed=1, sample=5)
    assert choose(None, "", seed=1, sample=5) != choose(None, "", seed=2, sample=5)
    assert {cell.kind for cell in choose("delta", "TRUNCATE")} == {"delta"}
