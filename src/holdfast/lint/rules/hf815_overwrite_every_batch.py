"""HF815: foreachBatch overwrites the whole target with every batch.

## What it finds

A function of `foreachBatch` writes the batch with `overwrite` to a fixed target, and the query is
in append mode. A staging table that the function merges into another one is left out.

## What Spark does

Every batch replaces what the batches before it wrote. Only the rows of the last batch are kept.

## What to do

Append with an identity, merge, or use complete mode if the target shall hold the whole result.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [ForeachBatchSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sources/ForeachBatchSink.scala)
"""

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
