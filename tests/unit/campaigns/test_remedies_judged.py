"""What a remedy has done is judged: each planted fault is found."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest
from msgspec.structs import replace

from campaigns.remedies.families import find_remedies
from campaigns.remedies.remedy import (
    NEAREST,
    REFUSAL,
    CarriedOut,
    NotOfferedError,
    Remedy,
    command_in,
    find_problems,
)
from holdfast.plan.plan_file import Need, Plan
from holdfast.plan.steps import Permission
from holdfast.proof.multiset import Difference
from holdfast.rules import RULES
from tests.unit.rules.test_remedies import OFFERED

EXACT = Difference(expected=6, missing=0, duplicated=0, foreign=0)
PLAN = Plan(
    id="20261116-101500-7c1f02",
    goal="resume",
    stream="readings",
    root="/srv/streams",
    made_at="2026-11-16T10:15:00+00:00",
    made_by="",
    summary="",
    impact=(),
    undo="",
    preconditions=(),
    steps=(),
)
NEEDS = (Need(permission=Permission.REPEATS_DATA, stream="readings", why=""),)


def never(*_: object) -> CarriedOut:
    raise AssertionError


REMEDY = Remedy(name="deleted", code="HF606", goal="resume", carry_out=never)
DONE = CarriedOut(command="", plan=PLAN, difference=EXACT)
REPEATS = dataclasses.replace(
    DONE,
    plan=msgspec.structs.replace(PLAN, needs=NEEDS),
    difference=replace(EXACT, duplicated=2),
    repeats=2,
)


@pytest.mark.parametrize("done", [DONE, REPEATS], ids=["exact", "repeats what it says"])
def test_what_ends_as_it_says_is_fine(done: CarriedOut) -> None:
    assert list(find_problems(REMEDY, done)) == []


@pytest.mark.parametrize(
    "done",
    [
        dataclasses.replace(DONE, difference=replace(EXACT, missing=1)),
        dataclasses.replace(DONE, difference=replace(EXACT, duplicated=1)),
        dataclasses.replace(DONE, difference=replace(EXACT, foreign=1)),
        dataclasses.replace(DONE, plan=msgspec.structs.replace(PLAN, goal="reset")),
        dataclasses.replace(REPEATS, plan=PLAN),
        dataclasses.replace(REPEATS, repeats=1),
    ],
    ids=["lost", "duplicated", "altered", "another goal", "not asked", "another number"],
)
def test_a_planted_fault_is_found(done: CarriedOut) -> None:
    assert len(list(find_problems(REMEDY, done))) == 1


def test_a_finding_without_a_command_is_not_offered() -> None:
    assert command_in("Run `holdfast plan resume a -o plan.json`: it helps.").endswith("plan.json")
    with pytest.raises(NotOfferedError):
        command_in("Restore the file.")


def test_a_command_is_chosen_by_its_goal() -> None:
    how = "Run `holdfast plan rewind a`, or `holdfast plan reset a`."
    assert command_in(how, goal="reset") == "holdfast plan reset a"
    with pytest.raises(NotOfferedError):
        command_in(how, goal="resume")


def test_every_remedy_is_of_a_rule() -> None:
    remedies = find_remedies()
    assert len({each.name for each in remedies}) == len(remedies)
    assert {each.code for each in remedies} <= {NEAREST, REFUSAL, *(rule.code for rule in RULES)}


_PLAIN = "for plain streams; a stream with state has `tests/spark/test_plain_plans.py`"
NOT_RUN = {
    ("HF212", "reset"): _PLAIN,
    ("HF213", "reset"): _PLAIN,
    ("HF361", "reset"): "no runtime of Iceberg for the lab's Spark",
    ("HF363", "reset"): "no runtime of Iceberg for the lab's Spark",
    ("HF418", "rewind"): _PLAIN,
    ("HF419", "rewind"): _PLAIN,
    ("HF705", "reset"): "a guarded table has a ledger, and HF608 speaks for it",
    ("HF716", "rewind"): "a guarded table has a ledger, and HF603 speaks for it",
}
"""Commands of rules that no campaign carries out on real damage, and why."""


def test_every_command_that_a_rule_prints_is_carried_out() -> None:
    """One that is printed and never run may give no plan, or end otherwise than it says."""
    printed = {(each.rule.code, each.command.split()[2]) for each in OFFERED}
    run = {(each.code, each.goal) for each in find_remedies()}
    assert printed - run == set(NOT_RUN)
