"""HF225: the query writes to another sink than before.

## What it finds

The commit entries name their sink (version 3, Spark 4.2 and later), and the newest one names
another than an earlier one.

## What Spark does

Spark continues in the new sink. The batches before the change are only in the old one.

## What to do

If the change was meant, nothing. Otherwise find the query that uses the same checkpoint for another
sink, and load the batches that are missing in each.

## Where this comes from

- Spark 4.2.0, `SinkMetadataInfo` in
  [CommitLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/CommitLog.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.commits import CommitEntry
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    active = [
        (batch, frozenset(sink.name for sink in commit.sinks or () if sink.is_active))
        for batch, commit in case.checkpoint.commits.items()
        if isinstance(commit, CommitEntry) and commit.sinks
    ]
    if case.overview is None or not active:
        return
    newest = active[-1][1]
    other = next(((batch, sinks) for batch, sinks in reversed(active) if sinks != newest), None)
    if other is None:
        return
    batch, before = other
    yield RULE.find(
        what=(
            f"{spark_will(case)} continue in the sink {', '.join(sorted(newest))}; up to batch "
            f"{batch} the query wrote to {', '.join(sorted(before))}, which gets no more rows."
        ),
        how="Check that the change was meant, and that the new sink needs no earlier batches.",
        follows_from=(f"commits/{batch}", f"commits/{case.newest_committed}"),
    )


RULE = Rule(
    code="HF225",
    name="named-sink-changed",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
