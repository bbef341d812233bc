"""HF733: the output's log has grown so large that every tenth batch is slow.

## What it finds

The newest compact file of the output's log has more than 100 MB. It lists every file that the sink
has ever written.

## What Spark does

Every tenth batch Spark reads the log, holds it in the driver's memory and writes it again. Every
reader reads it too. A driver can run out of memory.

## What to do

Write to a table format such as Delta, or begin a new output directory with a new checkpoint. The
option `retention` shortens the log, but readers then do not see the older files any more.

## Where this comes from

- Spark 4.2.0, `compact` and `allFiles` in
  [CompactibleFileStreamLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/CompactibleFileStreamLog.scala)
- [SPARK-27188](https://issues.apache.org/jira/browse/SPARK-27188)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import LARGE_LOG, file_outputs
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for output in file_outputs(case):
        if output.compact_bytes <= LARGE_LOG:
            continue
        yield RULE.find(
            what=(
                f"Spark writes {output.compact_bytes >> 20:,} MB of log anew every "
                f"{output.interval} batches of {output.shown}, and every reader reads them."
            ),
            how="Plan a new output directory with a new checkpoint, or a table format.",
            follows_from=(f"_spark_metadata/{output.compact}.compact",),
        )


RULE = Rule(
    code="HF733",
    name="file-sink-log-large",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.OUTPUT,
    judge=_judge,
)
