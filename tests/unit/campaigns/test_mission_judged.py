"""What the mission's plan says is lost is judged: each planted fault is found."""

from __future__ import annotations

import msgspec
import pytest

from campaigns.mission.cases import allowing, says_lost
from holdfast.plan.plan_file import Change, Impact, Need, Plan
from holdfast.plan.steps import Permission

STREAM = "sensor-raw-ingest"
LOST = Change(kind="loses", what="50 records have expired", amount=50)
WHOLE = Plan(
    id="20261116-101500-7c1f02",
    goal="reset",
    stream=STREAM,
    root="/srv/streams",
    made_at="2026-11-16T10:15:00+00:00",
    made_by="",
    summary="",
    impact=(Impact(stream=STREAM, position=""),),
    undo="",
    preconditions=(),
    steps=(),
)
EXPIRED = msgspec.structs.replace(
    WHOLE,
    impact=(Impact(stream=STREAM, position="", changes=(LOST,)),),
    needs=(Need(permission=Permission.SKIPS_DATA, stream=STREAM, why=""),),
)
SAID = "  lost for good         50 records\n  skipped               nothing\n"
NOTHING = "  lost for good         nothing\n"


def test_what_is_said_right_is_fine() -> None:
    assert says_lost(EXPIRED, SAID, 50)
    assert says_lost(WHOLE, NOTHING, 0)


@pytest.mark.parametrize(
    ("plan", "said", "gone"),
    [
        (EXPIRED, SAID, 51),
        (EXPIRED, NOTHING, 50),
        (EXPIRED, "", 50),
        (msgspec.structs.replace(EXPIRED, needs=()), SAID, 50),
        (WHOLE, SAID, 50),
        (EXPIRED, NOTHING, 0),
    ],
    ids=["number", "words", "silent", "no word", "not in the plan", "nothing is lost"],
)
def test_a_planted_fault_is_found(plan: Plan, said: str, gone: int) -> None:
    assert not says_lost(plan, said, gone)


def test_the_words_without_one_kind() -> None:
    words = ("skips-data:a", "destructive:a", "destructive:b")
    assert allowing(words, "skips-data") == ["--allow", "destructive:a", "--allow", "destructive:b"]
    assert allowing(words, "destructive") == ["--allow", "skips-data:a"]
    assert allowing(words)[1::2] == list(words)
