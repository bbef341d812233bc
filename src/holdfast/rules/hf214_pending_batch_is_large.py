"""HF214: the batch that Spark runs again is far larger than those before it.

## What it finds

The pending batch has at least ten times as many records, files or versions as the median of the
batches before it. That is how a stream looks that fails in the same batch at every start: the first
batch after an outage, or a batch without a limit.

## What Spark does

Spark runs exactly this range again. `maxOffsetsPerTrigger`, `maxFilesPerTrigger` and starting
options do not change a batch that is planned. If it failed for lack of memory, it fails again.

## What to do

Give one start more memory, or correct what fails in the batch. Set a limit for the batches after
it. Do not delete the checkpoint. The offset entry may be deleted only if the sink holds nothing of
the batch.

## What it cannot see

Why the last run stopped. Pass its log with `--error`.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark 4.2.0, `constructNextBatch` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark's documentation:
  [Recovery Semantics after Changes in a Streaming Query](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#recovery-semantics-after-changes-in-a-streaming-query)
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import RunsAgain
from holdfast.evidence.progress import find_ranges
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ids import BatchId
from holdfast.rules.log_entries import amount_text, total_of
from holdfast.rules.rule import Finding, Needs, Rule

_TIMES, _COMPARED, _LEAST = 10, 10, 3
"""How much larger, than how many batches at most, and of how many at least."""


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if not isinstance(start, RunsAgain):
        return
    amount = total_of(find_ranges(case.checkpoint, start.batch_id))
    if amount is None:
        return
    before = [
        found.number
        for batch in range(start.batch_id - _COMPARED, start.batch_id)
        if (found := total_of(find_ranges(case.checkpoint, BatchId(batch))))
        and found.unit == amount.unit
    ]
    if len(before) < _LEAST or amount.number < _TIMES * max(median(before), 1):
        return
    yield RULE.find(
        what=(
            f"Spark will run batch {start.batch_id} again with its complete range"
            f"{amount_text(amount)}; the {len(before)} batches before it have {median(before):g} "
            "at the median. Limits on the size of a batch do not apply to it."
        ),
        how="If it fails again, give one start more memory; set a limit for the batches after it.",
        follows_from=start.follows_from,
        amount=amount,
    )


RULE = Rule(
    code="HF214",
    name="pending-batch-is-large",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
