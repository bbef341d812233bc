"""HF836: several writes of one batch compute random columns again.

## What it finds

A function of `foreachBatch` writes one DataFrame to several sinks. It has columns such as `uuid()`,
`rand()` or `current_timestamp()` and is not persisted.

## What Spark does

Spark computes the DataFrame again for each write. After a restart between two writes, or with a
time in it, the sinks get different values for the same row.

## What to do

Call `persist()` on the DataFrame before the first write, and derive ids from the data or the batch
id.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [ForeachBatchSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sources/ForeachBatchSink.scala)
- Spark's documentation:
  [Using Foreach and ForeachBatch](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#using-foreach-and-foreachbatch)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import takewhile

from holdfast.grades import Confidence, Severity
from holdfast.lint.chains import Step
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


def _is_random(steps: tuple[Step, ...]) -> bool:
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
