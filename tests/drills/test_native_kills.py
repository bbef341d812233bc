"""Spark's own sinks under the guard, killed where the sink has its batch and where it has not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from campaigns.streams import guarded_native
from holdfast.drills.builtin.delta_table import DeltaTable
from holdfast.drills.kill import Driver, Point, Rename
from holdfast.storage.write import open_writer
from lab.spark import environment

pytestmark = pytest.mark.sampled(2)
FILES = 4


def rows(kind: str, output: Path) -> Counter[str]:
    """Return the rows as a reader of the sink's own log has them."""
    if kind == "delta":
        return Counter(str(row) for (row,) in DeltaTable(open_writer(str(output))).read().rows)
    log = output / "_spark_metadata"
    entries = [
        json.loads(line)
        for path in log.iterdir()
        if path.name.isdecimal()
        for line in path.read_text().splitlines()[1:]
    ]
    files = [output / each["path"].rpartition("/")[2] for each in entries]
    return Counter(line for each in files for line in each.read_text().splitlines())


@pytest.mark.parametrize("kind", ["delta", "text"])
@pytest.mark.parametrize(
    "point",
    [
        Rename("after", "offsets/1"),
        Rename("before", "commits/1"),
        Rename("after", "commits/1"),
    ],
    ids=str,
)
def test_killed_beside_its_checkpoint_it_goes_on_exactly(
    tmp_path: Path, kind: str, point: Point
) -> None:
    (tmp_path / "in").mkdir()
    for number in range(FILES):
        (tmp_path / f"in/f{number}").write_text(f"row {number}\n")
    driver = Driver(
        [guarded_native.__file__, str(tmp_path), kind],
        environment=environment(tmp_path / "spark", {}),
        directory=tmp_path / "runs",
    )
    driver.run_until_killed(point)
    driver.run_to_end()
    assert rows(kind, tmp_path / "output") == Counter(f"row {each}" for each in range(FILES))
