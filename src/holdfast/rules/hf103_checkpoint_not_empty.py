"""HF103: batch 0 needs an empty checkpoint, and this one is not empty.

## What it finds

There are no offset entries, but commits, state or a temporary file are there. A part of
the checkpoint was deleted, or the very first start was killed.

## What Spark does

From Spark 4.1 the start fails with `STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`. Spark 3.5 and 4.0
begin with batch 0 and read everything again.

## What to do

If only `.tmp` files are there, a killed first batch left them. A guarded start moves them aside
itself. For a bare checkpoint, this plan removes them:

```sh
holdfast plan resume LOCATION -o plan.json
```

Otherwise the logs were deleted. The ledgers give them back to a guarded stream without state, with
`holdfast plan resume STREAM --root ROOT -o plan.json`. For every other checkpoint, restore
`offsets/` and `commits/`. Do not delete the rest: Spark would read everything again into the same
sink.

## Where this comes from

- Spark 4.2.0, `verifyNewCheckpointDirectory` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.layout import COMMITS, OFFSETS
from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Refuses
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command, resuming
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore `offsets/` from a backup."


def _how(case: Case) -> str:
    logs = (f"{OFFSETS}/", f"{COMMITS}/")
    refused = case.next_start
    in_the_way = refused.follows_from if isinstance(refused, Refuses) else ()
    leftovers = {each for each in case.checkpoint.leftovers if each.startswith(logs)}
    if not leftovers.issuperset(in_the_way):
        return resuming(case, otherwise=_HOW)
    return f"Run {plan_command(case, Goal.RESUME)}: it removes what a killed first batch left."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_how(case))


RULE = Rule(
    code="HF103",
    name="checkpoint-not-empty",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
