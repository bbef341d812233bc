from __future__ import annotations

from pathlib import Path

from holdfast.drills.kill.driver import Driver
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


def test_every_state_that_a_crash_could_leave_is_made_again(tmp_path: Path) -> None:
    program, live = tmp_path / "program.py", tmp_path / "live"
    program.write_text(PROGRAM)
    live.mkdir()
    driver = Driver([str(program), str(live)], environment={}, directory=tmp_path / "runs")
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
