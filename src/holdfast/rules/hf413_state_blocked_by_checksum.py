"""HF413: a checksum without its file blocks a schema or the metadata of the state.

## What it finds

On local disk, a `.crc` file below `state/` is there without its schema or metadata, which Spark
writes again when they are missing.

## What Spark does

Hadoop refuses to write the file, and Spark fails because it already exists.

## What to do

Restore the file. If there is no copy, move the `.crc` file aside: Spark then writes the schema of
the query that is started, without a comparison.

## Where this comes from

- Spark 4.2.0, `getExistingKeyAndValueSchema` in
  [StateSchemaCompatibilityChecker.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/StateSchemaCompatibilityChecker.scala)
- Spark 4.2.0, `OperatorStateMetadataV1Writer` in
  [OperatorStateMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/OperatorStateMetadata.scala)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore the file, or move the `.crc` file aside."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF413",
    name="state-blocked-by-checksum",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
