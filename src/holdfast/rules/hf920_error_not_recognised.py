"""HF920: the text that was given has no error that Holdfast knows.

## What it finds

The log or the message that was given with `--error` has no error that Holdfast knows, or no error
at all. A log without an error is often cut off, or it is the log of an executor.

## What Spark does

Nothing follows from the text. What the next start does follows from the checkpoint alone.

## What to do

Give the log of the driver that failed, up to its end. Do not delete the checkpoint before you know
the cause.

## What it cannot see

Errors of connectors that Holdfast does not know by name. The
[error index](../error-index.md) lists the known ones.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (Cause.OTHER,)


def _judge(case: Case) -> Iterator[Finding]:
    report = case.error
    if report is None or (report.last is not None and report.last.cause is not Cause.OTHER):
        return
    if report.last is not None:
        says = f"The last error is {report.last.condition}: {report.last.message}"
        what = f"{says} Holdfast does not know this error."
        line = report.last.line
    elif report.has_failure:
        what = f"The text of {report.lines:,} lines has an error that Holdfast does not know."
        line = report.lines
    else:
        what = (
            f"The text of {report.lines:,} lines has no error. The log is cut off, it is not the "
            "log of the driver, or the driver was ended from outside."
        )
        line = report.lines
    yield RULE.find(
        what=what,
        how="Give the log of the driver up to its end, or the complete message.",
        follows_from=(f"line {line:,} of the error",),
    )


RULE = Rule(
    code="HF920",
    name="error-not-recognised",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.ERROR,
    judge=_judge,
)
