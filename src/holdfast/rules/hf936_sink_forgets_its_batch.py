"""HF936: the sink remembers its last batch in memory alone.

## What it finds

The log names a sink that recognises a repeated batch only while the driver lives: `KustoSink`,
`DorisStreamLoadSink` or `YtStreamingSink`.

## What Spark does

After a restart Spark runs the pending batch again, and the sink writes its rows a second time.

## What to do

Treat the sink as at-least-once. Deduplicate by a key, or write through `foreachBatch` with a
ledger.

## What it cannot see

The sinks are known from public code by their names. A newer version of a connector can do better.

## Where this comes from

- Azure Kusto connector 7.1.1, `latestBatchId` in
  [KustoSink.scala](https://github.com/Azure/azure-kusto-spark/blob/v4.0_7.1.1/connector/src/main/scala/com/microsoft/kusto/spark/datasink/KustoSink.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (Cause.SINK_FORGETS,)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF936",
    name="sink-forgets-its-batch",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.ERROR,
    judge=_judge,
)
