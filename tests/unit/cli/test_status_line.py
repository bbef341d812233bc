from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run
from holdfast.cli.status_line import status_line
from holdfast.cli.watch import show_wait, watch
from holdfast.judgement.case import collect_case
from holdfast.storage.memory import MemoryStorage
from tests.unit.cli.inspecting import unpack


def make_terminal(monkeypatch: pytest.MonkeyPatch, *, columns: int) -> None:
    """Make stderr a terminal; called by the test itself, because pytest replaces it before."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))


def test_each_text_replaces_the_last_and_none_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_terminal(monkeypatch, columns=20)
    with status_line() as show:
        show("phase 1 of 23, which is long")
        show("phase 2")
    long, short, empty, end = capsys.readouterr().err.split("\r")[1:]
    assert (long, short.rstrip(), empty.rstrip(), end) == ("phase 1 of 23, whic", "phase 2", "", "")
    assert {len(line) for line in (long, short, empty)} == {19}, "a full line would scroll"


def test_a_name_cannot_steer_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_terminal(monkeypatch, columns=80)
    with status_line() as show:
        show("\x1b[2J\n")
    err = capsys.readouterr().err
    assert r"\x1b[2J" in err
    assert "\x1b" not in err


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with status_line() as show:
        show("phase 1")
    assert capsys.readouterr().err == ""


@pytest.mark.timeout(20)
def test_a_long_reading_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.cli.watch.SHOWN_AFTER_S", 0)
    make_terminal(monkeypatch, columns=80)
    reader = MemoryStorage({"offsets/0": b""})
    err = ""
    with watch(reader) as watched:
        watched.list("offsets")
        while "1 files listed" not in err:
            err += capsys.readouterr().err
    assert f"Reading {reader.location}: 1 files listed, 0 read" in err


@pytest.mark.timeout(20)
def test_a_long_search_says_how_many_checkpoints_it_has_judged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.cli.watch.SHOWN_AFTER_S", 0)
    make_terminal(monkeypatch, columns=80)
    reader = MemoryStorage()
    err = ""
    with watch(reader) as watched:
        watched.checkpoints = 312
        while "312 checkpoints" not in err:
            err += capsys.readouterr().err
    assert f"Reading {reader.location}: 312 checkpoints, 0 files listed" in err


@pytest.mark.timeout(20)
def test_a_long_wait_is_shown_without_credentials(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.cli.watch.SHOWN_AFTER_S", 0)
    make_terminal(monkeypatch, columns=80)
    err = ""
    with show_wait("s3a://KEY:SECRET@lake/orders"):
        while " s " not in err:
            err += capsys.readouterr().err
    assert "Reading s3a://***@lake/orders: 0 s" in err
    assert "SECRET" not in err


@pytest.mark.timeout(20)
@pytest.mark.parametrize("verb", ["diagnose", "facts", "evidence --output sent.zip"])
def test_these_verbs_do_not_wait_in_silence(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    verb: str,
) -> None:
    monkeypatch.setattr("holdfast.cli.watch.SHOWN_AFTER_S", 0)
    make_terminal(monkeypatch, columns=200)
    seen = []

    def collect_slowly(*looks: Any) -> Any:
        err = ""
        while "Reading" not in err:
            err += capsys.readouterr().err
        seen.append(err)
        return collect_case(*looks)

    name, *more = verb.split()
    monkeypatch.setattr(f"holdfast.cli.{name}.collect_case", collect_slowly)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        run([name, str(unpack("4.2-stateless", tmp_path)), *more])
    assert seen
