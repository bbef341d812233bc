"""HF208: a checksum without its entry blocks the next commit entry.

## What it finds

On local disk, `commits/.N.crc` is there without the entry `commits/N`, which Spark writes next. The
entry was deleted without its checksum.

## What Spark does

Spark writes the batch to the sink and then fails with `Multiple streaming queries are concurrently
using`. There is no other query. Every start writes the batch once more.

## What to do

Stop the restart loop. Check that no query runs, then take the `.crc` file away. `LOCATION` is the
checkpoint; a guarded stream is named by `STREAM --root ROOT`:

```sh
holdfast plan resume LOCATION -o plan.json
```

## Where this comes from

- Spark 4.2.0, `markMicroBatchEnd` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `write` in
  [HDFSMetadataLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/HDFSMetadataLog.scala)
- Spark 4.2.0, `Multiple streaming queries are concurrently using` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by
  `python -m campaigns.situations commit-deleted-without-its-checksum`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command
from holdfast.rules.predicted import find_failure_after
from holdfast.rules.rule import Finding, Needs, Rule

_ERROR = "Multiple streaming queries are concurrently using"


def _judge(case: Case) -> Iterator[Finding]:
    how = (
        f"Check that no query runs, then run {plan_command(case, Goal.RESUME)}: it takes the "
        "`.crc` file of the missing commit entry away. Spark runs the batch once more: if the sink "
        "does not recognise it, remove its rows first."
    )
    return find_failure_after(RULE, case, error=_ERROR, how=how)


RULE = Rule(
    code="HF208",
    name="commit-blocked-by-checksum",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
