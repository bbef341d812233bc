"""HF804: two queries use one checkpoint.

## What it finds

Two queries of one program have the same checkpoint location and write to different places.

## What Spark does

If both run in one session, Spark stops the first one, or refuses to start the second. The second
then continues from the first one's offsets, so rows never reach one of the targets.

## What to do

Give each query a checkpoint location of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.queries import Query
from holdfast.lint.rule import LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    for number, query in enumerate(program.queries):
        for earlier in program.queries[:number]:
            if _shares(program, query, earlier):
                assert query.checkpoint is not None
                yield RULE.find(
                    f"The query started at line {earlier.at[0]} uses the same checkpoint. Spark "
                    "stops one of them, or continues one from the other's offsets.",
                    query.checkpoint.at,
                )
                break


def _shares(program: Program, one: Query, other: Query) -> bool:
    if one.checkpoint is None or other.checkpoint is None:
        return False
    if not one.checkpoint.value.is_same(other.checkpoint.value):
        return False
    where = (one.site or one.started, other.site or other.started)
    return not program.syntax.is_exclusive(*where) and _differ(program, one, other)


def _differ(program: Program, one: Query, other: Query) -> bool:
    """Return whether two queries surely write to different places: not one query run twice."""
    scopes = {program.syntax.scope_of(each.site or each.started) for each in (one, other)}
    if len(scopes) > 1 or one.target is None or other.target is None:
        return False
    return bool(one.target.known and other.target.known and one.target != other.target)


RULE = LintRule(
    code="HF804",
    name="checkpoint-shared",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
