"""HF314: a file in the log of a file source does not hold what its name says.

## What it finds

Every entry in `sources/<i>/` names the file of the log that it was written to. No entry that Spark
reads at a start names this file: it was cut off, replaced by another, or a number in it changed.

## What Spark does

Spark does not compare these numbers, and starts. Input files that are not in the log count as never
read: Spark reads them again, and rows are duplicated.

## What to do

Restore `sources/<i>` from a backup or an object version, with the age of `offsets/`. With
`--probe`, Holdfast compares the log with the files that the source has.

## Where this comes from

- Spark 4.2.0, `compact` and `allFiles` in
  [CompactibleFileStreamLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/CompactibleFileStreamLog.scala)
- Spark 4.2.0, `restore` in
  [FileStreamSourceLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/FileStreamSourceLog.scala)
- Measured, in the repository, by `python -m campaigns.damages`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if case.overview is None:
        return
    for log in case.checkpoint.sources:
        for path in log.misplaced:
            yield RULE.find(
                what=(
                    f"{spark_will(case)} take {path} as it is, although no entry has its number: "
                    "entries are missing, and their input files are read again."
                ),
                how=f"Restore {path} from a backup or an object version.",
                accepting="Spark reads the input files again that the log does not name",
                follows_from=(path,),
            )


RULE = Rule(
    code="HF314",
    name="source-log-misplaced",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
