"""HF815: foreachBatch overwrites the whole target with every batch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.identity import recognises
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule

_PARTIAL = ("replacewhere", "partitionoverwritemode", "")


def _judge(program: Program) -> Iterator[LintFinding]:
    if any("partitionOverwriteMode" in name for name in program.names):
        return
    for batch in program.batch_functions:
        if batch.names_batch or batch.query.output_mode != "append" or recognises(batch.callees):
            continue  # a staging table is replaced, and merged into the target afterwards
        for write in batch.writes:
            plain = write.steps and write.steps[0].name == "write"
            same = isinstance(write.root, ast.Name) and write.root.id == batch.batch
            if write.mode == "overwrite" and plain and same:
                if any(name in write.options for name in _PARTIAL):
                    continue
                yield RULE.find(
                    "Every batch replaces the target: only the rows of the last batch are kept.",
                    write.at,
                )


RULE = LintRule(
    code="HF815",
    name="overwrite-every-batch",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
