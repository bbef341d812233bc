"""Signs of life of a plain stream: what is looked at, and how long is long enough."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from holdfast import clock
from holdfast.apply.apply import apply_plan
from holdfast.apply.errors import StreamRunsError
from holdfast.apply.stores import Stores
from holdfast.formats.event_log.history import EventLogHistory
from holdfast.judgement.case import DiagnoseRequest, collect_case
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from holdfast.plan.signs import find_signs, open_logs, quiet_time
from tests.unit.apply.plans import STREAM, make_root

BEGAN = datetime(2026, 11, 18, tzinfo=UTC)
RETIRE = Request(goal="retire")


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Return a checkpoint without a record, whose last batch ended long ago."""
    shutil.copytree(make_root(tmp_path) / STREAM, tmp_path / "plain" / STREAM)
    for path in (tmp_path / "plain").rglob("*"):
        os.utime(path, (1_700_000_000,) * 2)
    return tmp_path / "plain" / STREAM


@pytest.mark.parametrize(
    ("pause_s", "is_pending", "wanted"),
    [(1, False, 15), (60, False, 180), (300, False, 900), (1, True, 600), (7200, False, 3600)],
)
def test_a_stream_must_be_quiet_by_its_own_rhythm(
    pause_s: int, is_pending: bool, wanted: float
) -> None:
    planned = [BEGAN + timedelta(seconds=pause_s * batch) for batch in range(8)]
    assert quiet_time(planned, is_pending=is_pending) == wanted


def test_a_plan_says_what_was_looked_at(checkpoint: Path) -> None:
    found = make_plan(RETIRE, DiagnoseRequest(location=str(checkpoint)))
    assert isinstance(found, Plan), found
    (need,) = (each for each in found.needs if each.word == f"unguarded:{STREAM}")
    assert need.why.startswith("No lease says that it is stopped. Its last sign of life was ")
    assert need.why.endswith("(its checkpoint).")


def test_an_event_log_without_an_end_is_watched(checkpoint: Path, tmp_path: Path) -> None:
    case = collect_case(DiagnoseRequest(location=str(checkpoint)))
    log = EventLogHistory(location=str(tmp_path), query_id="q", without_end=("app-1", "app-2"))
    case = replace(case, event_log=log)
    assert open_logs(case) == (str(tmp_path / "app-1"), str(tmp_path / "app-2"))
    assert "does not say that it ended" in find_signs(case).say()


@pytest.mark.parametrize("kind", ["file", "directory"])
def test_a_stream_whose_event_log_is_written_to_is_not_stopped(
    checkpoint: Path, tmp_path: Path, kind: str
) -> None:
    found = make_plan(RETIRE, DiagnoseRequest(location=str(checkpoint)))
    assert isinstance(found, Plan), found
    log = tmp_path / "app-1"
    file = log if kind == "file" else log / "events_1_app-1"
    file.parent.mkdir(exist_ok=True)
    file.write_text("{}\n")
    os.utime(file, (clock.now().timestamp() - 20,) * 2)
    plan = _watching(found, log)
    before = sorted(checkpoint.rglob("*"))
    with pytest.raises(StreamRunsError, match=r"written to 2[0-9] s ago, and has no end yet"):
        apply_plan(plan, Stores(), allowed=plan.words)
    assert sorted(checkpoint.rglob("*")) == before
    os.utime(file, (clock.now().timestamp() - 610,) * 2)
    apply_plan(plan, Stores(), allowed=plan.words)
    assert [each.name for each in checkpoint.rglob("*") if each.is_file()] == ["metadata"]


def _watching(plan: Plan, log: Path) -> Plan:

    return msgspec.structs.replace(plan, watched=(str(log),))
