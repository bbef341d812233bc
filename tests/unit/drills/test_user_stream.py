from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.drills import user_stream
from holdfast.drills.errors import TimeLimitError, UndisturbedRunError
from holdfast.drills.names import check_names
from holdfast.drills.user_stream import NOTHING, Target, UserStream, agree, phases_of
from holdfast.errors import ConfigError

BATCHES = range(5)


def names(points: list[str], *files: str) -> list[str]:
    running: Any = SimpleNamespace(reached=[(0.0, point) for point in points])
    return [phase.name for phase in phases_of(running, map(Path, files))]


def entries(kind: str) -> list[str]:
    return [f"place/checkpoint/{kind}/{number}" for number in BATCHES]


def test_a_plain_stream_of_files_is_killed_at_its_checkpoint() -> None:
    files = [*entries("offsets"), *entries("commits"), *entries("sources/0")]
    assert names([], *files) == [
        "source-log-before",
        "source-log-after",
        "offsets-before",
        "offsets-after",
        "commits-before",
        "commits-after",
        "replay",
    ]


def test_what_a_stream_does_not_come_by_is_left_out() -> None:
    assert "source-log-before" not in names([], *entries("offsets"), *entries("commits"))
    assert names([], "place/checkpoint/offsets/0", "place/checkpoint/commits/0") == []


def test_a_guarded_stream_is_killed_in_its_steps_too() -> None:
    files = [*entries("offsets"), *entries("commits")]
    guarded = names(["G2", "G5", "S1", "S3", "S6", "S7", "batch=3"], *files)
    assert {"start-leased", "start-fenced", "batch-begun", "sink-committed"} <= set(guarded)
    assert "sink-data-sent" not in guarded


def test_a_stream_with_state_in_rocksdb_is_killed_at_its_state() -> None:
    files = [*entries("offsets"), *entries("commits")]
    state = [f"place/checkpoint/state/0/{store}/1.zip" for store in range(3)]
    assert {"state-before", "state-some"} <= set(names([], *files, *state))
    assert "state-some" not in names([], *files, *state[:2])
    assert "state-some" not in names([], *files, "place/checkpoint/state/0/0/1.delta")


def undisturbed(home: Path, *state: list[object]) -> UserStream:
    home.mkdir()
    (home / "rows.jsonl").write_text('["sink", 1]\n')
    (home / "state.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in state))
    return UserStream(of=Target(start="app:start"), home=home, expected=NOTHING)


def test_what_two_undisturbed_runs_keep_is_expected_store_by_store(tmp_path: Path) -> None:
    counts: list[list[object]] = [["0/counts", ["a"], [3]], ["0/counts", ["b"], [3]]]
    first = undisturbed(tmp_path / "1", *counts, ["0/timers", ["a"], 17])
    second = undisturbed(tmp_path / "2", *counts[::-1], ["0/timers", ["a"], 18])
    assert agree(first, first).left_out == []
    expected = agree(first, second)
    assert (expected.rows, expected.left_out) == ([("sink", 1)], ["0/timers"])
    assert expected.state == first.state()
    second_time = undisturbed(tmp_path / "3", counts[0], *counts, ["0/timers", ["a"], 17])
    assert agree(first, second_time).left_out == ["0/counts"]


def test_state_that_one_run_could_not_read_is_not_expected(tmp_path: Path) -> None:
    first, second = undisturbed(tmp_path / "1"), undisturbed(tmp_path / "2")
    assert agree(first, second).state == []
    (second.home / "state.jsonl").unlink()
    assert agree(first, second).state is None


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text("def start(): ...")
    Path("broken.py").write_text("1 / 0")


@pytest.mark.usefixtures("here")
def test_functions_that_are_there_are_found() -> None:
    check_names(["app:start", "app.py:start"])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("app:strat", "'app' has no 'strat'"),
        ("apple:start", "'apple' cannot be imported: ModuleNotFoundError"),
        ("broken:start", "'broken' cannot be imported: ZeroDivisionError"),
    ],
)
def test_a_function_that_is_not_there_is_told_before_anything_starts(named: str, why: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_names(["app:start", named])
    assert raised.value.why.startswith(why)


@pytest.fixture
def drilled_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The program that a driver runs in the place of the one that needs Spark."""
    program = tmp_path / "program.py"
    monkeypatch.setattr(user_stream, "_PROGRAM", program)
    return program


def drill_once(place: Path, *, seconds: float) -> None:
    target = Target(start="app:start", seconds=seconds)
    list(user_stream.drill_user_stream(target, directory=place / "drill"))


HANGS = """
import signal
from holdfast.points import reached, tell
tell("spark", "4.2.0")
reached("streams-started")
signal.pause()
"""


@pytest.mark.usefixtures("here")
def test_a_driver_that_reaches_its_time_limit_is_stopped_and_said_so(
    drilled_program: Path, tmp_path: Path
) -> None:
    drilled_program.write_text(HANGS)
    with pytest.raises(TimeLimitError) as raised:
        drill_once(tmp_path, seconds=3)
    error = raised.value
    assert error.code == "DRILL_TIME_LIMIT"
    assert error.what == "app:start was stopped: its first undisturbed run did not end within 3 s."
    assert error.why.startswith("The stream was "), "how far it came depends on the machine"
    assert "--timeout 6)" in error.how
    assert str(error.log) in error.how
    assert error.log.exists()


@pytest.mark.usefixtures("here")
def test_a_stream_that_fails_without_a_kill_says_what_its_log_says(
    drilled_program: Path, tmp_path: Path
) -> None:
    drilled_program.write_text("raise SystemExit('the table is gone')")
    with pytest.raises(UndisturbedRunError) as raised:
        drill_once(tmp_path, seconds=60)
    assert raised.value.what.startswith("app:start failed in an undisturbed run")
    assert raised.value.why.splitlines()[-1] == "the table is gone"
