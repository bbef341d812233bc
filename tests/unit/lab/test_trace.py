from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.drills.kill.driver import Driver
from holdfast.drills.kill.points import Rename
from lab.faults.trace import Operation, Prefixes, read_trace, traced

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
(here / "placed").write_text("whole")
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
    environment = traced(tmp_path / "trace")
    return Driver([str(program), str(live)], environment=environment, directory=tmp_path / "runs")


def test_a_run_that_is_killed_is_traced_up_to_the_kill(
    driver: Driver, live: Path, tmp_path: Path
) -> None:
    point = Rename("after", "entry", nth=2)
    ended = driver.start(point).wait()
    assert ended.fired == str(point)
    operations = read_trace(tmp_path / "trace", below=[live])
    assert [each.what for each in operations] == ["rename", "rename"]


def test_every_state_that_a_crash_could_leave_is_made_again(
    driver: Driver, live: Path, tmp_path: Path
) -> None:
    driver.run_to_end()
    operations = read_trace(tmp_path / "trace", below=[live])
    assert [each.what for each in operations] == ["rename", "rename", "link", "unlink", "create"]
    expected = [
        {"tmp": "0"},
        {"entry": "0", "tmp": "1"},
        {"entry": "1", "other": "linked"},
        {"entry": "1", "lease": "linked"},
        {"lease": "linked", "placed": "wh"},
        {"lease": "linked", "placed": "whole"},
    ]
    prefixes = Prefixes(operations, below=[live])
    in_any_order = [*range(6), 2, 5, 0, 4]
    for done in in_any_order:
        prefixes.make(done)
        assert files(live) == expected[done]


def test_what_was_changed_or_added_since_is_put_back(tmp_path: Path) -> None:
    live, kept = tmp_path / "live", tmp_path / "kept"
    kept.write_text("as it was")
    made = Operation(what="link", path=live / "logs" / "0", came_from=None, kept=kept)
    prefixes = Prefixes([made], below=[live])
    prefixes.make(1)
    made.path.write_text("as it is.")
    (live / "logs" / "1").write_text("more")
    (live / "state").mkdir()
    prefixes.make(1)
    assert files(live / "logs") == {"0": "as it was"}
    assert [path.name for path in live.iterdir()] == ["logs"]
    prefixes.make(0)
    assert not live.exists()
