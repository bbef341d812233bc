"""A plan that comes from a file is made again, and compared: the file is not believed.

What a plan needs to be allowed, and what its steps are, follows from what was asked for and from
the world as it is now. Two plans for the same are equal up to what is new in each: ids, times, and
the digests that follow from them. Every digest is compared with the world when its step is done.
"""

from __future__ import annotations

import re

import msgspec
from msgspec.structs import replace

from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.goal import Code
from holdfast.plan.make import plan_steps
from holdfast.plan.plan_file import NoPlan, Plan, PlanFileError

_NEW = re.compile(
    rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # query ids
    rb"|[0-9]{8}[-_][0-9]{6}[-_][0-9a-f]{6}"  # plan ids
    rb"|[0-9a-f]{64}"  # digests
    rb"|(?<=-d)[0-9a-f]{16}(?=\.json)"  # of a batch in the record, whose name has a part of one
    rb"|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(\+[0-9:]+|Z)?"  # times
    rb"|(?<=TimestampMs\\\":)[0-9]+"
)


def remake_plan(
    plan: Plan, shown: str, looks: DiagnoseRequest, *, code: Code | None = None
) -> tuple[str, ...]:
    """Make the plan of a file again; return the words that it needs.

    Its sinks are asked later, by whoever applies it.

    Args:
        plan: As the file has it.
        shown: The file.
        looks: The options of the stores; what to look at is taken from the plan.
        code: Of the stream, for a goal that runs it.

    Raises:
        PlanFileError: The plan is another one now, or there is none.
        HoldfastError: The stream cannot be read.
    """
    asked = plan.asked
    if asked is None:
        raise PlanFileError(shown, "It does not say what was asked for, so it cannot be checked.")
    there = replace(
        looks,
        location=asked.location,
        root=asked.root,
        sources=asked.sources,
        sinks=asked.sinks,
        event_log=asked.event_log,
        among=asked.among,
        probe=True,
    )
    again = plan_steps(asked.request, there, code)
    if isinstance(again, NoPlan):
        raise PlanFileError(shown, f"There is no such plan any more: {again.reason}")
    if not is_same(again, plan):
        raise PlanFileError(
            shown,
            "Its steps are not those that the same command plans now: the stream or its sinks "
            "have changed since, or the file was edited.",
        )
    return again.words


def is_same(plan: Plan, other: Plan) -> bool:
    """Return whether two plans do the same, up to what is new in every plan."""
    return _essence(plan) == _essence(other)


def _essence(plan: Plan) -> tuple[str, str, str, str | None, bytes]:
    """Return what is the same in every plan that is made for the same."""
    steps = _NEW.sub(b"*", msgspec.json.encode(plan.steps))
    return plan.goal, plan.stream, plan.root, plan.beside, steps
