"""HF313: a checksum without its entry blocks the log of a file source.

## What it finds

On local disk, a `.crc` file in `sources/<i>/` is there without the entry that Spark writes next.

## What Spark does

Hadoop refuses to write the entry, and Spark fails with `Multiple streaming queries are concurrently
using`. There is no other query.

## What to do

Check that no query runs, then take the `.crc` file away. `LOCATION` is the checkpoint; a guarded
stream is named by `STREAM --root ROOT`:

```sh
holdfast plan resume LOCATION -o plan.json
```

## Where this comes from

- Spark 4.2.0, `write` in
  [HDFSMetadataLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/HDFSMetadataLog.scala)
- Spark 4.2.0, `Multiple streaming queries are concurrently using` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    command = plan_command(case, Goal.RESUME)
    how = f"Check that no query runs, then run {command}: it takes the `.crc` file away."
    return find_refusal(RULE, case, how=how)


RULE = Rule(
    code="HF313",
    name="source-log-blocked-by-checksum",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
