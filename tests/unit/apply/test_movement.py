"""A bare checkpoint that is written, or was just now, may be that of a running query."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from holdfast import clock
from holdfast.apply.movement import find_movement
from holdfast.apply.stores import Stores
from holdfast.plan.signs import QUIET_S
from holdfast.storage.read import Reader
from tests.unit.apply.plans import STREAM, make_root


@pytest.fixture
def checkpoint(tmp_path: Path) -> Reader:
    home = make_root(tmp_path) / STREAM
    for path in home.rglob("*"):
        os.utime(path, (1_700_000_000,) * 2)
    return Stores().at(str(home))


def test_an_old_checkpoint_that_stays_as_it_is_is_quiet(checkpoint: Reader) -> None:
    assert find_movement(checkpoint) is None


def test_what_was_written_just_now_may_be_followed_by_more(
    checkpoint: Reader, tmp_path: Path
) -> None:
    (tmp_path / STREAM / "commits/1").write_text("x")
    found = find_movement(checkpoint)
    assert found is not None
    assert int(found.split(" s ago")[0].rsplit(" ", 1)[1]) < QUIET_S


def test_what_a_store_with_a_clock_ahead_has_written_is_not_old(
    checkpoint: Reader, tmp_path: Path
) -> None:
    file = tmp_path / STREAM / "commits/1"
    now = clock.now().timestamp()
    os.utime(file, (now + 40,) * 2)
    assert "0 s ago" in (find_movement(checkpoint) or "")
    os.utime(file, (now + 86_400,) * 2)  # no clock is ahead by a day: it says nothing
    assert find_movement(checkpoint) is None


def test_a_query_that_plans_a_batch_every_five_minutes_is_not_stopped_after_one(
    checkpoint: Reader, tmp_path: Path
) -> None:
    now = clock.now().timestamp()
    for batch in range(6):
        for log in ("offsets", "commits"):
            file = tmp_path / STREAM / f"{log}/{batch}"
            file.write_text("x")
            os.utime(file, (now - 60 - 300 * (5 - batch),) * 2)
    assert "must be quiet for 900 s" in (find_movement(checkpoint) or "")
    for file in (tmp_path / STREAM).glob("*/*"):
        os.utime(file, (file.stat().st_mtime - 900,) * 2)
    assert find_movement(checkpoint) is None
