"""The forms of what `plan` and `apply` answer as JSON, and their schemas.

python -m tests.docs.repair_forms       write the schemas again
"""

from __future__ import annotations

import msgspec

from holdfast.plan.plan_file import Plan
from tests.house.repository import ROOT


class NoPlanJson(
    msgspec.Struct,
    forbid_unknown_fields=True,
    tag="holdfast.no-plan",
    tag_field="format",
):
    """There is no plan for this goal, or none is needed."""

    version: int
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
    plan: str
    journal: str
    steps: int


PlanAnswer = Plan | NoPlanJson
ApplyAnswer = RehearsalJson | AppliedJson
SCHEMAS = {"plan.schema.json": PlanAnswer, "apply.schema.json": ApplyAnswer}


def schema_of(name: str) -> bytes:
    """Return the schema that a file holds."""
    found = msgspec.json.encode(msgspec.json.schema(SCHEMAS[name]))
    return msgspec.json.format(found, indent=2) + b"\n"


if __name__ == "__main__":
    for each in SCHEMAS:
        (ROOT / "docs/reference" / each).write_bytes(schema_of(each))
