from __future__ import annotations

import logging
import re

import pytest

from holdfast.cli.progress import progress
from holdfast.drills.kill.waiting import wait_until
from tests.unit.cli.test_status_line import make_terminal

LOG = logging.getLogger("holdfast.drills.some")


def test_a_pipe_gets_a_line_for_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("holdfast.drills"):
        LOG.info("commits-before: driver %d of %d", 1, 3)
        LOG.debug("not this")
        LOG.info("\x1b[2J")
    LOG.info("nor this")
    captured = capsys.readouterr()
    first, second = captured.err.splitlines()
    assert re.fullmatch(r"0:0\d commits-before: driver 1 of 3", first)
    assert second.endswith(r" \x1b[2J")
    assert captured.out == ""
    assert not logging.getLogger("holdfast.drills").handlers


def test_on_a_terminal_the_clock_of_a_long_step_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_terminal(monkeypatch, columns=40)
    monkeypatch.setattr("holdfast.cli.progress._TICK_S", 0.01)
    with progress("holdfast.drills") as shown:
        LOG.info("driver 1 of 3")
        err = ""

        def is_shown_again() -> bool:
            nonlocal err
            err += capsys.readouterr().err
            return err.count("driver 1 of 3") > 2

        assert wait_until(is_shown_again, seconds=30)
        shown.show("[###---] 50%")
    assert "[###---] 50%" in capsys.readouterr().err


def test_a_terminal_shows_the_newest_step_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_terminal(monkeypatch, columns=40)
    with progress("holdfast.drills"):
        LOG.info("driver 1 of 3")
        LOG.info("driver 2 of 3")
    err = capsys.readouterr().err
    assert "\n" not in err
    shown = [line.strip() for line in err.split("\r") if line.strip()]
    assert [line.partition(" ")[2] for line in shown] == ["driver 1 of 3", "driver 2 of 3"]
