"""HF729: an entry of the output's log is damaged.

## What it finds

A file of the log that Spark reads, the newest compact file or one above it, is not of the form that
Spark writes: cut off, edited, or of another version.

## What Spark does

Readers fail at once. The query fails at the first batch that compacts the log, every tenth by
default, and at every start from then on.

## What to do

Restore the file from a copy. If there is none, start with a new output directory together with a
new checkpoint, from a known position.

## What accepting does

Readers fail, and the query fails when it compacts the log.

## Where this comes from

- Spark 4.2.0, `deserialize` in
  [CompactibleFileStreamLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/CompactibleFileStreamLog.scala)
- Spark 4.2.0, `allFilesFromLog` in
  [MetadataLogFileIndex.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MetadataLogFileIndex.scala)
- Measured, in the repository, by `python -m campaigns.situations file-sink-log-unreadable`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_outputs, when_compacted
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for output in file_outputs(case):
        if output.newest is None or not output.unreadable:
            continue
        fails = when_compacted(output, max(output.newest, case.newest_committed))
        yield RULE.find(
            what=(
                f"Spark will fail when it compacts the log of {output.shown}, {fails}: "
                f"{output.unreadable[0]}. Readers fail now."
            ),
            how=f"Restore {output.unreadable[0].partition(':')[0]} from a copy.",
            accepting=f"readers fail, and the query fails {fails}",
            follows_from=tuple(each.partition(":")[0] for each in output.unreadable),
        )


RULE = Rule(
    code="HF729",
    name="file-sink-log-unreadable",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
