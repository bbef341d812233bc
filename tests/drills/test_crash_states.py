"""States that a crash can leave behind, drawn by the seed; all are `benchmarks.crash_states`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.crash_states import State, find_states
from holdfast.drills.kill.trace import Operation
from lab.spark import environment
from tests.house.repository import ROOT

STATES = 60


def operation(path: str) -> Operation:
    return Operation(what="rename", path=Path(path), came_from=None, kept=Path("none"))


def test_a_batch_may_or_may_not_be_in_the_table_until_its_commit_is_written() -> None:
    paths = ("_holdfast/readings/contracts/1", "_holdfast/readings/runs/1", "readings/offsets/0")
    done = [operation(f"/live/{path}") for path in (*paths, "readings/commits/0")]
    assert list(find_states(done)) == [
        State(done=0, batches=None),
        State(done=1, batches=None),
        State(done=1, batches=0),
        State(done=2, batches=0),
        State(done=3, batches=0),
        State(done=3, batches=1),
        State(done=4, batches=1),
    ]


@pytest.mark.usefixtures("class_archive")
def test_from_every_state_the_stream_ends_exact(database: str, tmp_path: Path, seed: int) -> None:
    """In a process of its own: it has a session, and the tests' own may live on."""
    script = (
        "import json, sys; from pathlib import Path; from benchmarks.crash_states import run;"
        " home, dsn, states, seed = json.loads(sys.argv[1]);"
        " wrong = list(run(Path(home), dsn, files=8, states=states, seed=seed));"
        " sys.exit('\\n'.join(wrong) or 0)"
    )
    given = json.dumps([str(tmp_path / "home"), database, STATES, seed])
    settings = {**os.environ, **environment(tmp_path / "spark", {})}
    ended = subprocess.run(
        [sys.executable, "-c", script, given],
        check=False,
        cwd=ROOT,
        env=settings,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert f"{STATES} replayed" in ended.stdout
