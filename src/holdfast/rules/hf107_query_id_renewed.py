"""HF107: the file `metadata` is missing, and Spark continues under a new query id.

## What it finds

The file `metadata` is not there, the logs have entries, and the Spark to be started is older than
4.2.

## What Spark does

Spark makes a new query id and continues. Sinks that recognise a batch by query id and number, such
as Delta and Iceberg, do not recognise a batch that they hold: a pending batch is written twice.

## What to do

A guarded stream has the query id in its [record](../record.md#a-generation). This writes it again:

```sh
holdfast plan resume STREAM --root ROOT -o plan.json
```

A bare checkpoint is repaired by hand: write `{"id":"<query id>"}` into `metadata` before the start.
The id is in a Delta sink's `txn` actions, in Iceberg's snapshot summaries and in the driver's log.

## Where this comes from

- Spark 4.2.0, `streamMetadata` in
  [StreamingQueryCheckpointMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/StreamingQueryCheckpointMetadata.scala)
- [SPARK-55058](https://issues.apache.org/jira/browse/SPARK-55058)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Resumes, RunsAgain
from holdfast.evidence.versions import version_text
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command
from holdfast.rules.rule import Finding, Needs, Rule


def _how(case: Case) -> str:
    if case.root is None:
        return "Write `metadata` again, with the query id that the sink or the driver's log names."
    return f"Run {plan_command(case, Goal.RESUME)}: it writes the query id of the record."


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if case.overview is None or case.checkpoint.metadata is not None:
        return
    if not isinstance(start, Resumes | RunsAgain):
        return
    does = "write" if isinstance(start, RunsAgain) else "continue with"
    yield RULE.find(
        what=(
            f"Spark {version_text(case.overview.spark)} will {does} batch {start.batch_id} under a "
            "new query id, because `metadata` is missing. A sink that knows batches by the query "
            "id does not recognise those it holds."
        ),
        how=_how(case),
        accepting="the query gets a new id; a batch that the sink holds is written again",
        follows_from=("metadata", *start.follows_from),
    )


RULE = Rule(
    code="HF107",
    name="query-id-renewed",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
