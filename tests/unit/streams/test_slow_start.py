"""A start that takes long says what it is doing; a quick one says nothing."""

from __future__ import annotations

import pytest

from holdfast.drills.kill.waiting import wait_until
from holdfast.streams.slow_start import FIRST_LINE_S, SlowStart


def test_a_start_that_takes_long_says_what_it_is_doing(caplog: pytest.LogCaptureFixture) -> None:
    with SlowStart("readings", first_s=0, pause_s=0.01) as slow:
        slow.at("takes the lease")
        assert wait_until(lambda: "0 s: it takes the lease" in caplog.text, seconds=30)
        slow.pause()
    assert "readings has been starting for" in caplog.text


def test_the_first_line_comes_before_the_first_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "holdfast")
    with SlowStart("readings", first_s=0.01, pause_s=60) as slow:
        slow.at("reads the record")
        assert wait_until(lambda: bool(caplog.messages), seconds=30)
    (record,) = caplog.records
    assert record.getMessage() == "holdfast: readings is starting: it reads the record"
    assert record.levelname == "INFO"
    assert FIRST_LINE_S <= 2


def test_a_quick_start_and_one_that_is_told_to_wait_say_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with SlowStart("readings") as slow:
        slow.at("takes the lease")
    assert not caplog.messages
