"""HF728: the output's log lacks entries that Spark needs.

## What it finds

Above the newest compact file, the log of the file sink must have an entry for every batch. Some are
missing: a compact file or a plain entry was deleted, by hand or by a lifecycle rule.

## What Spark does

Readers fail at once. The query fails with `BATCH_METADATA_NOT_FOUND` at the first batch that
compacts the log, every tenth by default, and at every start from then on.

## What to do

Restore the missing entries from a copy. If there is none, start with a new output directory
together with a new checkpoint, from a known position.

## What accepting does

Readers fail, and the query fails when it compacts the log.

## Where this comes from

- Spark 4.2.0, `compact` and `allFiles` in
  [CompactibleFileStreamLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/CompactibleFileStreamLog.scala)
- Spark 4.2.0, `BATCH_METADATA_NOT_FOUND` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `python -m campaigns.situations file-sink-log-incomplete`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_outputs, when_compacted
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for output in file_outputs(case):
        if output.newest is None or not output.holes:
            continue
        fails = when_compacted(output, max(output.newest, case.newest_committed))
        missing = ", ".join(map(str, output.holes))
        yield RULE.find(
            what=(
                f"Spark will fail when it compacts the log of {output.shown}, {fails}: "
                f"the log has no entry for batch {missing}. Readers fail now."
            ),
            how="Restore the missing entries of _spark_metadata from a copy.",
            accepting=f"readers fail, and the query fails {fails}",
            follows_from=(f"_spark_metadata/{output.holes[0]}", f"_spark_metadata/{output.newest}"),
        )


RULE = Rule(
    code="HF728",
    name="file-sink-log-incomplete",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.OUTPUT,
    judge=_judge,
)
