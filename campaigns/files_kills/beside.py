"""Spark's own Parquet sink under the same kills: what readers find that ignore its log."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from campaigns.files_kills.readers import read_dataset, read_parquet_glob
from campaigns.streams import plain_to_files
from holdfast.drills.builtin.workload import FILES, ROWS_PER_FILE, write_files
from holdfast.drills.kill import Driver, Point, Rename
from holdfast.drills.kill.driver import Running
from lab.spark import environment

POINTS: tuple[Point, ...] = (
    Rename("before", "_spark_metadata/0"),  # the files of the batch are there, the log is not
    Rename("after", "_spark_metadata/1"),
    Rename("before", "_spark_metadata/3"),
    Rename("before", "commits/4"),
    Rename("before", "_spark_metadata/6"),
    Rename("before", "offsets/7"),
)


def run_beside(directory: Path) -> str:
    """Kill a plain stream at each point, finish it, and say what readers find too much."""
    write_files(directory / "files")
    lake = directory / "lake"
    arguments = [str(directory / "files"), str(lake), str(directory / "checkpoint")]
    driver = Driver(
        [plain_to_files.__file__, *arguments],
        environment=environment(directory / "driver", {}),
        directory=directory / "runs",
    )
    for point in POINTS:
        with driver.start(point) as running:
            _until_killed(running, point)
    driver.run_to_end()
    expected = Counter((row,) for row in range(FILES * ROWS_PER_FILE))
    lines = [f"Spark's own Parquet sink, {len(POINTS)} kills"]
    for name, read in (("pyarrow dataset", read_dataset), ("glob", read_parquet_glob)):
        found = Counter(read(lake / "out"))
        lost, more = (expected - found).total(), (found - expected).total()
        lines.append(f"  {name}: {expected.total():,} rows, {lost} lost, {more} duplicated")
    return "\n".join(lines)


def _until_killed(running: Running, point: Point) -> None:
    ended = running.wait()
    assert ended.fired, f"{point} did not happen"
