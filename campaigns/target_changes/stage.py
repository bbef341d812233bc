"""The scene for each cell, and the cell played in it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pyspark.sql import SparkSession

from campaigns.target_changes.cells import Cell
from campaigns.target_changes.delta.scene import DeltaScene
from campaigns.target_changes.matrix import DELTA
from campaigns.target_changes.player import Played, play_cell
from campaigns.target_changes.postgres.scene import postgres_scene
from lab import Postgres


def play(cell: Cell, *, spark: SparkSession, server: Postgres, directory: Path) -> Played:
    """Set the scene of a cell and play it."""
    if cell.kind == DELTA:
        with closing(DeltaScene(cell, spark=spark, directory=directory)) as table:
            return play_cell(cell, table)
    with postgres_scene(cell, spark=spark, server=server, directory=directory) as scene:
        return play_cell(cell, scene)
