"""HF817: foreach writes rows one by one, and writes them again after a restart."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.batch_ids import BatchIdUse, use_of
from holdfast.lint.callables import all_called
from holdfast.lint.identity import recognises
from holdfast.lint.program import Program
from holdfast.lint.row_writers import find_row_writer, find_row_writes
from holdfast.lint.rule import LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    for query in program.queries:
        step = query.step("foreach")
        if step is None:
            continue
        opened, functions = find_row_writer(query)
        called = all_called(functions)
        if not find_row_writes(called):
            continue
        epoch = (*opened.parameters, "", "")[1] if opened else ""
        recognised = opened is not None and use_of(opened, epoch) is BatchIdUse.RECOGNISES
        if not recognised and not recognises(called):
            yield RULE.find(
                "A restart runs the last batch again, and foreach writes its rows a second time. "
                "Use foreachBatch with a MERGE on a key, or hf.start.",
                step.at,
            )


RULE = LintRule(
    code="HF817",
    name="rows-written-again",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
