"""A bare checkpoint that is written, or was just now, may be that of a running query."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
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
    found = find_movement(checkpoint) or ""
    told = re.search(r"must be quiet for 900 s: until (\S+) UTC, (\d+) s from now\.$", found)
    assert told is not None
    end = datetime.fromtimestamp(now + 840, tz=UTC)
    assert told[1] == f"{end:%H:%M:%S}"
    assert 830 <= int(told[2]) <= 840
    for file in (tmp_path / STREAM).glob("*/*"):
        os.utime(file, (file.stat().st_mtime - 900,) * 2)
    assert find_movement(checkpoint) is None


def times(home: Path, *planned: float, committed: bool = True) -> None:
    """Write batches that were planned so many seconds ago."""
    now = clock.now().timestamp()
    for batch, ago in enumerate(planned):
        line = f'{{"batchWatermarkMs":0,"batchTimestampMs":{int((now - ago) * 1000)},"conf":{{}}}}'
        for log in ("offsets", "commits"):
            file = home / STREAM / f"{log}/{batch}"
            file.write_text(f"v1\n{line}\n0")
            os.utime(file, (now - ago,) * 2)
    if not committed:
        (home / STREAM / f"commits/{len(planned) - 1}").unlink()


@pytest.mark.parametrize(
    ("planned", "committed"),
    [
        ([1220, 920, 620, 320, 20], True),  # every five minutes
        ([1740, 1440, 1140, 840], True),  # the same, paused in its third pause
        ([625, 624, 623, 622, 621, 620, 320, 20], True),  # it has caught up, and goes slower now
        ([90], False),  # its first batch runs
        ([500, 499, 498], False),  # a batch runs for long
        ([4000, 2000], False),  # batches of half an hour
        ([14], True),
        ([50, 40, 30, 20], True),
        ([86_400 + 40, 86_400, 50, 40, 30, 20], True),  # stopped for a day in between
        ([20, 17, 14, 11], True),
    ],
)
def test_ten_queries_that_may_be_running(
    checkpoint: Reader, tmp_path: Path, planned: list[float], *, committed: bool
) -> None:
    times(tmp_path, *planned, committed=committed)
    assert find_movement(checkpoint) is not None


def test_one_long_pause_is_a_stop_and_no_rhythm(checkpoint: Reader, tmp_path: Path) -> None:
    times(tmp_path, 86_440, 86_400, 64, 63, 62, 61, 60)
    assert find_movement(checkpoint) is None


def test_a_copy_of_the_log_has_the_rhythm_of_the_query(checkpoint: Reader, tmp_path: Path) -> None:
    times(tmp_path, 1260, 960, 660, 360, 60)
    now = clock.now().timestamp()
    for file in (tmp_path / STREAM).glob("*/*"):
        os.utime(file, (now - 60,) * 2)
    assert "must be quiet for 900 s" in (find_movement(checkpoint) or "")


def test_before_its_third_batch_a_query_has_no_rhythm(checkpoint: Reader, tmp_path: Path) -> None:
    for log in ("offsets", "commits"):
        for file in (tmp_path / STREAM / log).iterdir():
            file.unlink()
        file = tmp_path / STREAM / f"{log}/0"
        file.write_text("x")
        os.utime(file, (clock.now().timestamp() - 290,) * 2)
    found = find_movement(checkpoint, trees=[checkpoint])
    assert "As it has planned fewer than 3 batches, it must be quiet for 600 s" in (found or "")
    assert find_movement(checkpoint) is None  # a plan that only copies it


def test_state_may_be_uploaded_after_a_query_has_stopped(
    checkpoint: Reader, tmp_path: Path
) -> None:
    now = clock.now().timestamp()
    for batch in range(6):
        for log in ("offsets", "commits"):
            file = tmp_path / STREAM / f"{log}/{batch}"
            file.write_text("x")
            os.utime(file, (now - 70 + batch,) * 2)
    for each in (tmp_path / STREAM / "state/0/0/1.delta", tmp_path / STREAM / "metadata"):
        each.parent.mkdir(parents=True, exist_ok=True)
        each.write_text("x")
        os.utime(each, (now - 70,) * 2)
    found = find_movement(checkpoint, trees=[checkpoint])
    assert "As Spark may upload state for a minute" in (found or "")
    assert find_movement(checkpoint) is None
    for each in (tmp_path / STREAM).rglob("*"):
        os.utime(each, (now - 160,) * 2)
    assert find_movement(checkpoint, trees=[checkpoint]) is None


def test_a_batch_that_writes_its_output_is_running(checkpoint: Reader, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    assert find_movement(checkpoint, trees=[Stores().at(str(out))]) is None
    (out / "part-0.parquet").write_text("x")
    found = find_movement(checkpoint, trees=[Stores().at(str(out))])
    assert f"{out}/part-0.parquet was written" in (found or "")


def test_a_file_of_next_year_does_not_hide_a_running_query(
    checkpoint: Reader, tmp_path: Path
) -> None:
    times(tmp_path, 30, 20, 10)
    ahead = clock.now().timestamp() + 86_400 * 365
    os.utime(tmp_path / STREAM / "commits/0", (ahead, ahead))
    assert "/2 was written 10 s ago" in (find_movement(checkpoint) or "")
