"""HF210: a batch was planned and not committed, and Spark runs it again.

## What it finds

The newest batch has an offset entry and no commit entry. That is what any kill leaves behind. It is
found only where nothing is known of the sink: for a guarded stream the ledger answers, and with
`--sink` the sink.

## What Spark does

Spark runs the batch again with exactly the same range. If the driver was stopped after the write,
the rows are in the sink already. A sink that does not recognise the batch then has them twice.

With `Trigger.Once`, Spark runs only this batch and stops: start it twice to get new data. In
real-time mode (Spark 4.1 and later), Spark deletes the offset entry and plans the batch again with
another range.

## What to do

Look into the sink for the rows of the batch. `foreachBatch` is called with the same batch id. If
the sink holds the rows and does not recognise the batch, delete them before the start. Do not
delete the offset entry: Spark would plan the batch again with another range, and a sink that
recognises it by its number would drop new rows.

## What it cannot see

Whether the rows reached the sink, and whether the sink recognises the batch.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark's documentation:
  [Using Foreach and ForeachBatch](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#using-foreach-and-foreachbatch)
- Measured, in the repository, by `python -m campaigns.situations killed-before-the-commit`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import RunsAgain
from holdfast.evidence.outputs.output import NotRead
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_batches import delta_holdings, is_strange
from holdfast.rules.log_entries import amount_text, total_of
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if not isinstance(start, RunsAgain) or start.then is not None or case.overview is None:
        return
    if _is_sink_known(case):
        return
    amount = total_of(case.overview.progress.sources)
    yield RULE.find(
        what=(
            f"Spark will run batch {start.batch_id} again with the same range"
            f"{amount_text(amount)}, because it was planned and not committed. Rows that already "
            "reached the sink are duplicated, unless the sink recognises the batch."
        ),
        how=(
            f"Check whether the sink holds rows of batch {start.batch_id}; if it does not "
            "recognise the batch, remove them before the start."
        ),
        follows_from=start.follows_from,
        amount=amount,
    )


def _is_sink_known(case: Case) -> bool:
    strange = [each.output for each in delta_holdings(case) if is_strange(case, each)]
    unknown = [each for each in case.outputs if isinstance(each, NotRead) or each in strange]
    is_told = bool(case.outputs) and not unknown
    return case.stream is not None or case.record is not None or is_told


RULE = Rule(
    code="HF210",
    name="pending-batch",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
