"""HF378: the source's log has grown so large that every tenth batch is slow.

## What it finds

The newest compact file of the source's log has more than 100 MB. It names every file that the
source has ever read, and Spark never removes an entry.

## What Spark does

Every tenth batch Spark reads the log, holds it in the driver's memory and writes it again. A start
reads it too. A driver can run out of memory.

## What to do

Raise `spark.sql.streaming.fileSource.log.compactInterval`, give the driver more memory, or plan a
reset with a new checkpoint from a known position.

## Where this comes from

- Spark 4.2.0, `compact` and `allFiles` in
  [CompactibleFileStreamLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/CompactibleFileStreamLog.scala)
- [SPARK-30462](https://issues.apache.org/jira/browse/SPARK-30462)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import LARGE_LOG, file_sources
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for source, found in file_sources(case):
        if found.compact_bytes <= LARGE_LOG:
            continue
        yield RULE.find(
            what=(
                f"Spark reads {found.compact_bytes >> 20:,} MB of log for source {source} at every "
                "start, and writes them again every tenth batch."
            ),
            how="Give the driver memory for it, or plan a reset with a new checkpoint.",
            follows_from=(f"sources/{source}",),
        )


RULE = Rule(
    code="HF378",
    name="file-source-log-large",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
