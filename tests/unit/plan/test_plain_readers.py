"""Streams that read what a plain stream writes: what cannot be looked at is not left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import ReadError
from holdfast.evidence.checkpoints_below import Found, Search
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.goals.outputs import OutputChoice, ResetRequest
from holdfast.plan.goals.plain_reset import plain_reset_part
from holdfast.plan.plain_readers import find_readers
from holdfast.plan.plan_file import NoPlan
from holdfast.plan.world import look_at_stream
from holdfast.storage.location import parse_location
from tests.docs import repair_root
from tests.unit.apply.plans import STREAM, make_root


def test_a_checkpoint_that_cannot_be_read_may_be_that_of_a_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = parse_location(str(tmp_path / "hidden"))
    unread: Found[object] = Found(path="hidden", location=place, unread="permission denied")
    monkeypatch.setattr(Search, "run", lambda _: iter((unread,)))
    looks = DiagnoseRequest(location=str(make_root(tmp_path) / STREAM), among=str(tmp_path))
    with pytest.raises(ReadError, match="permission denied"):
        find_readers(look_at_stream(looks), looks)


def test_a_guarded_reader_is_not_reset_as_a_plain_one(tmp_path: Path) -> None:
    repair_root.make_root(tmp_path)
    now = look_at_stream(DiagnoseRequest(location=STREAM, root=str(tmp_path / "streams")))
    asked = ResetRequest(start="earliest", output=OutputChoice.TRUNCATE, outputs={})
    found = plain_reset_part(now, "earliest", asked, plan_id="20261118-000000-000000")
    assert isinstance(found, NoPlan)
    assert "is guarded" in found.reason
    assert f"holdfast plan reset {STREAM} --root " in found.reason
