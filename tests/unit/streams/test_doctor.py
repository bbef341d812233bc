"""What `hf.doctor` says of a session: nothing is found that was not looked at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import holdfast as hf
from holdfast.errors import ConfigError
from holdfast.streams import doctor as doctors
from holdfast.streams.doctor import Examination, State, examine
from holdfast.streams.far_look import Asked, Looked, look


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A classic session, of which only the version and a task are asked."""
    port = SimpleNamespace(
        runs_functions_elsewhere=False,
        check_version=lambda _: None,
        run_task=lambda _, task: task(),
    )
    monkeypatch.setattr(doctors, "port_of", lambda _: port)
    monkeypatch.setattr(doctors, "check_session", lambda _: None)
    return SimpleNamespace(version="4.2.1")


def states(found: Examination) -> dict[str, State]:
    return {each.said: each.state for each in found.lines}


def test_a_classic_session_and_its_root(session: Any, tmp_path: Path) -> None:
    (tmp_path / "readings").mkdir()
    told = hf.doctor(session, root=str(tmp_path))
    assert told.is_complete
    assert str(told).startswith("what was looked at is there\n  found    Spark 4.2.1, a classic")
    assert states(told)["the root, with 1 entries in it"] is State.FOUND
    assert "both ends" not in str(told).partition("not run")[0]


def test_a_root_that_is_not_there_is_not_found(session: Any, tmp_path: Path) -> None:
    told = hf.doctor(session, root=str(tmp_path / "mistyped"))
    assert not told.is_complete
    (line,) = (each for each in told.lines if each.said.startswith("the root"))
    assert line.state is State.UNKNOWN


def test_a_root_that_cannot_be_one_is_unknown_and_says_why(session: Any) -> None:
    told = hf.doctor(session, root="dbfs:/streams")
    (line,) = (each for each in told.lines if each.said.startswith("the root"))
    assert line.state is State.UNKNOWN
    assert "dbfs" in line.said


def test_a_secret_by_its_value_is_refused_before_anything_is_asked() -> None:
    asked: Any = None
    with pytest.raises(ConfigError, match="by its name") as raised:
        hf.doctor(asked, secrets=["postgresql://user:hunter2@host/db"])
    assert "hunter2" not in str(raised.value)
    command = ["-m", "holdfast", "doctor", "--remote", "sc://127.0.0.1:1", "--secret", "hunter2"]
    ended = subprocess.run([sys.executable, *command], check=False, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "by its name" in ended.stderr
    assert "hunter2" not in ended.stderr + ended.stdout


def test_what_is_sent_of_a_root_does_not_grow_with_its_streams(tmp_path: Path) -> None:
    sizes = []
    for count in (10, 500):
        for number in range(count):
            (tmp_path / f"stream-{number}").mkdir(exist_ok=True)
        root = look(Asked(root=str(tmp_path))).root
        assert root is not None
        assert root.entries == count
        sizes.append(len(repr(root)))
    assert sizes[1] - sizes[0] <= 1


def test_roots_with_other_entries_are_two_places(tmp_path: Path) -> None:
    for name in ("here", "there"):
        (tmp_path / name / name).mkdir(parents=True)
    here, there = (look(Asked(root=str(tmp_path / each))) for each in ("here", "there"))
    assert isinstance(there, Looked)
    (line,) = doctors._roots(here, there)
    assert line.state is State.MISSING


@pytest.mark.parametrize("remote", ["sc://h:abc", "sc://h:99999", "sc://[::1", "sc://", "host"])
def test_an_address_that_is_none_is_refused(remote: str) -> None:
    with pytest.raises(ConfigError, match="sc://HOST:PORT"):
        examine(remote)
