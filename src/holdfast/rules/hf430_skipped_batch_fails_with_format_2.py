"""HF430: with state format 2, a sink that skips the pending batch makes every start fail.

## What it finds

A batch is pending, and the state has format 2. Such a batch must be run, even if the sink holds it.

## What Spark does

The file sink, Delta's own sink and a `foreachBatch` function that returns at once skip a batch that
the sink holds without running it. Spark then has no state files to name in the commit entry and
fails with `CheckpointInfo length: 0`, at every start.

## What to do

If the start fails so, write this one batch with `foreachBatch` and a `noop` sink
(`df.write.format("noop").mode("overwrite").save()`), which runs it and writes nothing. A guarded
stream does that itself.

## What it cannot see

Whether the sink holds the batch, and how it skips it.

## Where this comes from

- Spark 4.2.0, `CheckpointInfo length` in
  [statefulOperators.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/operators/stateful/statefulOperators.scala)
- Delta 4.4.0, `addBatch` in
  [DeltaSink.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSink.scala)
- Spark 4.2.0, `addBatch` in
  [FileStreamSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSink.scala)
- Measured, in the repository, by
  `python -m campaigns.situations batch-skipped-with-format-2`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import RunsAgain
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if not isinstance(start, RunsAgain) or case.stream is not None or case.record is not None:
        return
    stores = [store for operator in case.checkpoint.state for store in operator.stores]
    if not any(file.unique_id for store in stores for file in store.files):
        return
    yield RULE.find(
        what=(
            f"Every start of Spark will fail if the sink holds batch {start.batch_id} and skips it "
            "without running it, because the state has format 2."
        ),
        how=(
            f"If it fails with `CheckpointInfo length: 0`, run batch {start.batch_id} once with "
            "foreachBatch into a noop sink."
        ),
        follows_from=start.follows_from,
    )


RULE = Rule(
    code="HF430",
    name="skipped-batch-fails-with-format-2",
    severity=Severity.NOTE,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
