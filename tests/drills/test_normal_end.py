"""A program that ends, or is stopped, leaves nothing for the next one to wait for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from campaigns.clean_stops import report
from campaigns.streams.until_stopped import WAYS
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("class_archive")
def test_a_driver_that_is_stopped_leaves_nothing_to_wait_for(
    way: str, database: str, tmp_path: Path
) -> None:
    assert report(way, root=tmp_path / "stopped", dsn=database, restarts=1) == []
