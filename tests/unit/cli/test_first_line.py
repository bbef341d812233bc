"""A command that takes long says what it is doing before it does it, and only on stderr."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import click
import pytest

from holdfast.cli.drill_options import DrillOptions
from holdfast.streams.checking import check_streams
from tests import calling

MODULE = """\
import click

click.echo("LONG: the module is imported", err=True)


class Pipeline:
    name = "lake"

    def _long(self, *_, **__):
        click.echo("LONG: it works", err=True)
        raise RuntimeError("enough was seen")

    check = prove = show = describe = declared = _long
    root = None


pipeline = Pipeline()
"""
RANGE = ("readings", "--from", "earliest", "--to", "{}")
IMPORTING = "importing slow_lake:pipeline"
IMPORTED = "LONG: the module is imported"
SESSION = ("starting a Spark session", "LONG: Spark is started")
ENDED = "LONG: it works"
COMMANDS = {
    ("check", "slow_lake:pipeline"): [IMPORTING, IMPORTED, *SESSION, ENDED],
    ("prove", "slow_lake:pipeline"): [IMPORTING, IMPORTED, *SESSION, ENDED],
    ("pipeline", "show", "slow_lake:pipeline"): [
        *(IMPORTING, IMPORTED, *SESSION),
        *("calling the functions of the pipeline", ENDED),
    ],
    ("backfill", "slow_lake:pipeline", *RANGE): [
        *(IMPORTING, IMPORTED, *SESSION),
        *("readings: reading its record and the ledgers, and asking its sources", ENDED),
    ],
}


def start_session(_: str) -> str:
    click.echo("LONG: Spark is started", err=True)
    return "the session"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("check", "prove", "pipeline", "backfill"):
        command: ModuleType = import_module(f"holdfast.cli.{name}")
        monkeypatch.setattr(command, "local_session", start_session)
    with calling.importable(tmp_path, monkeypatch, name="slow_lake", text=MODULE):
        yield


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_each_step_is_said_before_it_begins(
    words: tuple[str, ...], form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, err = calling.call(capsys, *words, "--format", form)
    said = [re.sub(r"^0:0\d ", "", line) for line in err.splitlines()]
    steps = COMMANDS[words]
    assert said[: len(steps)] == steps
    assert out == ""


def test_a_drill_says_that_it_prepares(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_it(_: object) -> None:
        click.echo("LONG: the first driver", err=True)
        raise RuntimeError("enough was seen")

    monkeypatch.setattr(DrillOptions, "run", run_it)
    _, out, err = calling.call(capsys, "drill", "run", "delta-append")
    assert err.splitlines()[:2] == ["0:00 preparing the drill", "LONG: the first driver"]
    assert out == ""


def test_a_check_says_which_stream_it_is_at(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    checking = sys.modules[check_streams.__module__]
    monkeypatch.setattr(checking, "check_session", lambda _: (4, 2))
    monkeypatch.setattr(checking, "spark_errors", lambda: (RuntimeError,))
    monkeypatch.setattr(checking, "build_one", fail)
    monkeypatch.setattr(checking, "find_place", fail)
    caplog.set_level("INFO", "holdfast.check")
    raw = SimpleNamespace(name="raw", sinks=(), options={})
    with pytest.raises(RuntimeError):
        check_streams({"raw": raw}, None, only=["raw"], root=None)  # type: ignore[dict-item, arg-type]
    assert caplog.messages == [
        "raw: calling its function",
        "raw: comparing its plan with its checkpoint",
    ]


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("enough was seen")
