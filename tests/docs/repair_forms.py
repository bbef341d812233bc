"""The forms of what `plan` and `apply` answer as JSON."""

from __future__ import annotations

import msgspec

from holdfast.plan.plan_file import Plan


class NoPlanJson(
    msgspec.Struct,
    forbid_unknown_fields=True,
    tag="holdfast.no-plan",
    tag_field="format",
):
    """There is no plan for this goal, or none is needed."""

    version: int
    holdfast: str
    verdict: None
    reason: str
    nearest: str
    is_fine: bool


class ChangeJson(msgspec.Struct, forbid_unknown_fields=True):
    """One file that a plan would change."""

    place: str
    path: str
    kind: str


class NextStartJson(msgspec.Struct, forbid_unknown_fields=True):
    """What the next start of a checkpoint would do then."""

    checkpoint: str
    says: str


class RehearsalJson(
    msgspec.Struct,
    forbid_unknown_fields=True,
    tag="holdfast.rehearsal",
    tag_field="format",
):
    """What a plan would change; nothing was."""

    version: int
    holdfast: str
    verdict: None
    plan: str
    changes: list[ChangeJson]
    next_starts: list[NextStartJson]
    not_rehearsed: list[str]


class AppliedJson(
    msgspec.Struct,
    forbid_unknown_fields=True,
    tag="holdfast.applied",
    tag_field="format",
):
    """A plan was applied."""

    version: int
    holdfast: str
    verdict: None
    plan: str
    journal: str
    steps: int


PlanAnswer = Plan | NoPlanJson
ApplyAnswer = RehearsalJson | AppliedJson
