"""HF423: some partitions did not write the state of a batch that is committed.

## What it finds

The newest batch is committed, and its state is missing in some partitions only. That is the mark of
a `foreachBatch` function that did not read all partitions of its batch: it returned early, or used
`limit`, `show`, `head` or `isEmpty` alone.

## What Spark does

Spark fails in the next batch, because the state of those partitions is missing. From Spark 4.1 it
refuses the commit of such a batch with `STATE_STORE_COMMIT_VALIDATION_FAILED`.

## What to do

Let the function consume the complete batch. Then run the batch again, with the same range.
`LOCATION` is the checkpoint; a guarded stream is named by `STREAM --root ROOT`:

```sh
holdfast plan replay LOCATION -o plan.json
```

The plan puts the sinks of a guarded stream back to before the batch. A sink without a ledger gets
the rows again: the plan asks for `--allow repeats-data`.

## Where this comes from

- Spark 4.2.0, `STATE_STORE_COMMIT_VALIDATION_FAILED` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- [SPARK-52008](https://issues.apache.org/jira/browse/SPARK-52008)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.state.chain import BrokenChain
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    planned = case.newest_planned
    if case.overview is None or planned < 1 or case.newest_committed != planned:
        return
    for operator in case.overview.state:
        newest = {
            each.store.directory: max((file.version for file in each.store.files), default=0)
            for each in operator.stores
        }
        broken = [
            each.store.directory
            for each in operator.stores
            if isinstance(each.chain, BrokenChain)
            and newest[each.store.directory] == operator.version - 1
        ]
        if not broken or len(broken) == len(newest) or operator.version != planned + 1:
            continue
        yield RULE.find(
            what=(
                f"Spark will fail in batch {planned + 1}: batch {planned} is committed, but "
                f"{len(broken)} of {len(newest)} stores did not write its state. A foreachBatch "
                "function did not read all of the batch, or the files were deleted."
            ),
            how=(
                f"Let the function read all of its batch, then run batch {planned} again with "
                f"{plan_command(case, Goal.REPLAY)}."
            ),
            follows_from=tuple(broken[:20]),
        )


RULE = Rule(
    code="HF423",
    name="state-partly-committed",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.REPLAY,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
