"""HF723: the output holds batches of these numbers that are older than the checkpoint's.

## What it finds

The output's log has a batch whose files were written before the checkpoint planned the batch of
that number. So they are of another checkpoint, or of an earlier plan of the batch whose offset
entry was deleted.

## What Spark does

The file sink has discarded the output of these batches, or will discard it if they are pending: it
knows a batch by its number only. A restart does not bring the rows back.

## What to do

Load the ranges of these batches once with a batch job: `offsets/` says what they cover. Then start
with a new output directory together with a new checkpoint.

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
        if not others or (own and min(own) < max(others)):
            continue
        first, last = others[0], others[-1]
        yield RULE.find(
            what=(
                f"The output of {batch_range(first, last)} is not in {output.shown}: the log had "
                f"{'a batch of that number' if first == last else 'batches of those numbers'} "
                "before this checkpoint planned it, so Spark discards it without an error."
            ),
            how=(
                f"Load the input of {batch_range(first, last)} once with a batch job, and use a "
                "new output directory with a new checkpoint."
            ),
            accepting="the rows stay lost",
            amount=count_rows(case, others),
            follows_from=(f"offsets/{first}", f"_spark_metadata/{first}"),
        )


RULE = Rule(
    code="HF723",
    name="file-sink-batches-skipped",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.OUTPUT,
    judge=_judge,
)
