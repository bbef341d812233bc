"""HF836: several writes of one batch compute random columns again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import takewhile

from holdfast.grades import Confidence, Severity
from holdfast.lint.chains import ChainLink
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule

_RANDOM = re.compile(r"\b(rand|randn|uuid|current_timestamp|monotonically_increasing_id)\(")
_KEEPS = re.compile(r"\.(persist|cache|checkpoint|localCheckpoint)\(")


def _judge(program: Program) -> Iterator[LintFinding]:
    for batch in program.batch_functions:
        writes = [write for write in batch.writes if write.steps and _is_random(write.steps)]
        roots = {write.root.id for write in writes if isinstance(write.root, ast.Name)}
        if len(writes) < 2 or len(roots) != 1 or _KEEPS.search(batch.text):
            continue
        yield RULE.find(
            "This batch is written more than once and its columns are computed each time: the "
            "sinks get different values. Persist it first.",
            writes[1].at,
        )


def _is_random(steps: tuple[ChainLink, ...]) -> bool:
    before = takewhile(lambda step: step.name not in {"write", "writeTo"}, steps)
    shown = (ast.unparse(each) for step in before for each in (step.call.args if step.call else []))
    return any(_RANDOM.search(each) for each in shown)


RULE = LintRule(
    code="HF836",
    name="nondeterministic-columns",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
