"""HF724: two queries write to one output directory.

## What it finds

The output's log has batches that this checkpoint wrote, and after them batches whose files were
written before this checkpoint planned the batch of that number. Another query writes here too.

## What Spark does

Both queries count their batches from 0, and the file sink knows a batch by its number only. Whoever
comes second with a number is discarded, without an error. Both lose rows.

## What to do

Stop both queries. Give each one an output directory and a checkpoint of its own. Load the ranges
that were discarded once with a batch job.

## What it cannot see

Whether the driver's clock and the store's clock agree: a difference of less than a minute is
allowed. Batches that were merged into a compact file are not compared.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [FileStreamSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSink.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.wording import batch_range
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import count_rows, file_outputs, split_writers
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for output in file_outputs(case):
        own, others = split_writers(case, output)
        later = [each for each in others if own and each > min(own)]
        if not later:
            continue
        yield RULE.find(
            what=(
                f"Another query writes to {output.shown} too: it holds batch {min(own)} of this "
                f"checkpoint, and {batch_range(later[0], later[-1])} of another one. Spark "
                "discards what this query writes under a number that is taken."
            ),
            how=(
                "Give each query a directory of its own, and load the input of "
                f"{batch_range(later[0], later[-1])} once with a batch job."
            ),
            accepting="both queries go on to lose batches",
            amount=count_rows(case, later),
            follows_from=(f"offsets/{later[0]}", f"_spark_metadata/{later[0]}"),
        )


RULE = Rule(
    code="HF724",
    name="file-sink-shared",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.OUTPUT,
    judge=_judge,
)
