"""HF721: the output's log holds batches that the checkpoint has not planned.

## What it finds

The log of the file sink, `_spark_metadata`, holds higher batch numbers than the checkpoint has
planned. Offset entries were deleted, an older copy of the checkpoint was restored, or another query
writes to the same directory.

## What Spark does

Spark plans those batches anew, with other ranges. The file sink knows a batch by its number only:
it discards every batch up to the newest number in its log, and Spark commits it. The rows are lost,
and nothing is reported above the level INFO.

A discarded batch is not run, so it leaves no state. A stateful query then fails at the first batch
that is written again.

## What to do

Restore the newest copy of the checkpoint, `sources/` included. If two queries write here, give each
one a directory of its own. Otherwise start with a new checkpoint and a new output directory.

## What accepting does

Spark discards the output of those batches. Their rows never reach the output.

## Where this comes from

- Spark 4.2.0, `addBatch` in
  [FileStreamSink.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSink.scala)
- Measured, in the repository, by
  `python -m campaigns.situations file-sink-output-shared file-sink-offset-deleted`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import batch_range
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_outputs
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    planned = case.newest_planned
    for output in file_outputs(case):
        newest = output.newest
        if newest is None or not newest > planned >= 0:
            continue
        number = newest - planned
        yield RULE.find(
            what=(
                f"{spark_will(case)} run {batch_range(planned + 1, newest)} and discard the "
                "output: "
                f"{output.shown} already has batch {newest} in its log, and the checkpoint has "
                f"planned up to batch {planned}. The rows are lost without an error."
            ),
            how=(
                "Restore the newest copy of the checkpoint, or use a new output directory with a "
                "new checkpoint."
            ),
            accepting=f"the rows of {batch_range(planned + 1, newest)} never reach the output",
            amount=Amount(number=number, unit="batch"),
            follows_from=(f"offsets/{planned}", f"_spark_metadata/{newest}"),
        )


RULE = Rule(
    code="HF721",
    name="file-sink-ahead-of-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
