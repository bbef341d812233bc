from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.drills.kill.driver import Driver
from holdfast.drills.kill.points import Rename
from holdfast.drills.kill.trace import make_state, read_trace

PROGRAM = """
import os, sys
from pathlib import Path
here = Path(sys.argv[1])
for number in range(2):
    (here / "tmp").write_text(str(number))
    os.rename(here / "tmp", here / "entry")
(here / "other").write_text("linked")
os.link(here / "other", here / "lease")
os.unlink(here / "entry")
"""


def files(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


@pytest.fixture
def live(tmp_path: Path) -> Path:
    """Where the program works."""
    (tmp_path / "live").mkdir()
    return tmp_path / "live"


@pytest.fixture
def driver(tmp_path: Path, live: Path) -> Driver:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    return Driver([str(program), str(live)], environment={}, directory=tmp_path / "runs")


def test_a_run_that_is_killed_is_traced_up_to_the_kill(
    driver: Driver, live: Path, tmp_path: Path
) -> None:
    point = Rename("after", "entry", nth=2)
    ended = driver.start(point, trace=tmp_path / "trace").wait()
    assert ended.fired == str(point)
    operations = read_trace(tmp_path / "trace", below=live)
    assert [each.what for each in operations] == ["rename", "rename"]


def test_the_run_after_a_traced_one_is_not_traced(
    driver: Driver, live: Path, tmp_path: Path
) -> None:
    driver.run_traced(tmp_path / "trace")
    (live / "lease").unlink()
    before = (tmp_path / "trace/log").read_text()
    driver.run_to_end()
    assert (tmp_path / "trace/log").read_text() == before


def test_every_state_that_a_crash_could_leave_is_made_again(
    driver: Driver, live: Path, tmp_path: Path
) -> None:
    driver.run_traced(tmp_path / "trace")
    operations = read_trace(tmp_path / "trace", below=live)
    assert [each.what for each in operations] == ["rename", "rename", "link", "unlink"]
    expected = [
        {"tmp": "0"},
        {"entry": "0", "tmp": "1"},
        {"entry": "1", "other": "linked"},
        {"entry": "1", "lease": "linked"},
        {"lease": "linked"},
    ]
    for done, state in enumerate(expected):
        for path in live.iterdir():
            path.unlink()
        make_state(operations, done)
        assert files(live) == state
