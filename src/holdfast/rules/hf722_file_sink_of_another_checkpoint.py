"""HF722: a new checkpoint on an output directory that already has a log.

## What it finds

The checkpoint has planned nothing yet, and the output directory has the log of a file sink,
`_spark_metadata`, with batches in it. The checkpoint was deleted or is a new one, and the output
directory stayed.

## What Spark does

Spark starts with batch 0. The file sink knows a batch by its number only: it discards every batch
up to the newest number in its log, and Spark commits it. The rows are lost, and nothing is reported
above the level INFO. Only the batches after that are written.

A discarded batch is not run, so it leaves no state. A stateful query then fails at the first batch
that is written again.

## What to do

Restore the old checkpoint if there is a copy. Otherwise give the new checkpoint a new output
directory. Do not delete `_spark_metadata`: then readers see files of failed attempts too.

## What accepting does

Spark discards the output of those batches. Their rows never reach the output.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [FileStreamSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSink.scala)
- Measured, in the repository, by
  `python -m campaigns.situations file-sink-checkpoint-replaced`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import batch_range, count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_outputs
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for output in file_outputs(case):
        newest = output.newest
        if newest is None or case.newest_planned >= 0:
            continue
        yield RULE.find(
            what=(
                f"Spark will start with batch 0 and discard the output of "
                f"{count(newest + 1, 'batch')}: {output.shown} has batches "
                f"up to {newest} in its log, written with another checkpoint. Their rows "
                "are lost without an error."
            ),
            how="Restore the old checkpoint, or give the new one a new output directory.",
            accepting=f"the rows of {batch_range(0, newest)} never reach the output",
            amount=Amount(number=newest + 1, unit="batch"),
            follows_from=(f"_spark_metadata/{newest}", "offsets"),
        )


RULE = Rule(
    code="HF722",
    name="file-sink-of-another-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
