"""A start that takes long says what it is doing; a quick one says nothing."""

from __future__ import annotations

import pytest

from holdfast.drills.kill.waiting import wait_until
from holdfast.streams.slow_start import SlowStart


def test_a_start_that_takes_long_says_what_it_is_doing(caplog: pytest.LogCaptureFixture) -> None:
    with SlowStart("readings", pause_s=0.01) as slow:
        slow.at("takes the lease")
        assert wait_until(lambda: "0 s: it takes the lease" in caplog.text, seconds=30)
        slow.pause()
    assert "readings has been starting for" in caplog.text


def test_a_quick_start_and_one_that_is_told_to_wait_say_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with SlowStart("readings") as slow:
        slow.at("takes the lease")
    assert not caplog.messages
