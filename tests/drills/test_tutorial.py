"""The tutorial, followed word by word: killed twice, counted, reset by hand, refused, put back."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from holdfast.drills.errors import DriverFailedError
from holdfast.drills.kill import Named, Rename
from tests.drills.tutorial import PAGE, QUERIES, Tutorial


def shown_rows() -> list[list[tuple[str, ...]]]:
    """Return the rows of every table on the page."""
    tables = re.findall(r"^\|[ :|-]+\|\n((?:\|.*\|\n)+)", PAGE, re.MULTILINE)
    return [
        [tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in table.splitlines()]
        for table in tables
    ]


@pytest.mark.usefixtures("class_archive")
def test_the_tutorial_ends_as_it_says(database: str, tmp_path: Path) -> None:
    tutorial = Tutorial(here=tmp_path, dsn=database)
    tutorial.prepare()
    driver = tutorial.driver()
    driver.run_until_killed(Named("S5", 3))
    driver.run_until_killed(Rename("before", "commits/4"))
    driver.run_to_end()
    found = [[tuple(map(str, row)) for row in tutorial.run_sql(query)] for query in QUERIES]
    assert found == shown_rows()

    checkpoint = tmp_path / "streams/readings"
    shutil.move(checkpoint, tmp_path / "kept")
    (refusal,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    with pytest.raises(DriverFailedError) as refused:
        driver.run_to_end()
    assert refusal.strip() in refused.value.log.read_text()
    assert not checkpoint.exists(), "a refused start creates nothing"
    shutil.move(tmp_path / "kept", checkpoint)
    driver.run_to_end()
    assert [tuple(map(str, row)) for row in tutorial.run_sql(QUERIES[0])] == shown_rows()[0]
