"""The row of a fleet scan: flat, stable, and read back as it was written."""

from __future__ import annotations

import json

import msgspec

from holdfast.fleet.rows import FleetRow, parse_row, to_record
from holdfast.judgement.judge import Verdict

ROW = FleetRow(
    location="s3://lake/team-a/orders",
    path="team-a/orders",
    owner="team-a",
    verdict=Verdict.FAILS,
    codes=("HF203",),
    decided_by="HF203",
    sentence="will not start (HF203): offsets/5 is missing",
    newest_batch=6,
    committed_batch=6,
    is_pending=False,
    newest_ms=1_000,
    written_ms=3_000,
    sources=("kafka orders",),
    judged_ms=10_000,
    seen_ms=20_000,
)


def test_a_row_is_read_back_as_it_was_written() -> None:
    text = json.dumps(to_record(ROW))
    assert parse_row(json.loads(text)) == ROW


def test_a_record_of_a_later_version_is_read_and_another_is_none() -> None:
    assert parse_row({**to_record(ROW), "added_later": 1}) == ROW
    assert parse_row({**to_record(ROW), "verdict": "fine"}) is None
    assert parse_row({"location": "x"}) is None


def test_the_age_is_of_the_batch_and_idleness_of_the_newest_sign() -> None:
    assert (ROW.age_ms, ROW.idle_ms) == (19_000, 17_000)


def test_what_needs_attention_sorts_first_and_what_is_replaced_last() -> None:
    safe = msgspec.structs.replace(ROW, verdict=Verdict.SAFE)
    replaced = msgspec.structs.replace(ROW, replaced_by=2)
    assert sorted([replaced, safe, ROW], key=lambda row: row.urgency) == [ROW, safe, replaced]
