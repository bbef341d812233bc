"""A program that ends with its query leaves nothing for the next one to wait for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.drills.tutorial import Tutorial


@pytest.mark.usefixtures("class_archive")
def test_a_driver_that_ends_well_gives_its_lease_up(database: str, tmp_path: Path) -> None:
    tutorial = Tutorial(here=tmp_path, dsn=database)
    tutorial.prepare()
    tutorial.driver().run_to_end()
    record = tmp_path / "streams/_holdfast/readings"
    assert json.loads((record / "leases/000001.json").read_text())["released"]
    (run,) = (record / "runs").iterdir()
    assert json.loads(run.read_text())["ended"] == "finished"
