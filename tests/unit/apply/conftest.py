"""No test here is about a disk or a clock, and waiting for them takes most of their time."""

from __future__ import annotations

import os

import pytest

from holdfast.apply import movement


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(
        movement, "find_movement", lambda *_, **__: None
    )  # files of a test are always new
