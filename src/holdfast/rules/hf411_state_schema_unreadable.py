"""HF411: a schema of the state is damaged.

## What it finds

A schema file below `state/` is empty, cut off or of an unknown version.

## What Spark does

Spark compares the schema with that of the query and fails when it cannot read it: from Spark 4.0
before the batch, in Spark 3.5 in its tasks.

## What to do

Restore the file. Partition 0 of each operator has it; the schema of the same query in another
checkpoint is the same.

Without a backup, the open windows, the keys of a deduplication and the sums in it are lost. [Reset
a guarded stream](../../guides/reset.md), so that it computes them again from what the source
still has:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## Where this comes from

- Spark 4.2.0, `getExistingKeyAndValueSchema` in
  [StateSchemaCompatibilityChecker.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/StateSchemaCompatibilityChecker.scala)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import without_backup
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore the schema file."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW + without_backup(case))


RULE = Rule(
    code="HF411",
    name="state-schema-unreadable",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
