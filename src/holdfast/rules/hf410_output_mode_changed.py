"""HF410: the query has another output mode than in its last run.

## What it finds

The output mode differs from that of the last run.

## What Spark does

Spark compares nothing. The state stays. From `update` to `append`, a group is written once more
when the watermark passes it, also if its last value was written before. From `append` to `update`,
groups that are still open are written at every change. With `complete`, every batch contains all
groups.

## What to do

Check that the sink expects the new mode. A sink with `keys` takes `update`; an appending one holds
a row for every change.

## Where this comes from

- Spark's documentation:
  [Output Modes](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#output-modes)
- Spark 4.2.0, `StateStoreSaveExec` in
  [statefulOperators.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/operators/stateful/statefulOperators.scala)
- Measured, in the repository, by `python -m campaigns.edits`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    found = both_contracts(case)
    if found is None or found[0].output_mode == found[1].output_mode:
        return
    yield RULE.find(
        what=(
            f"The output mode was {found[0].output_mode} and is {found[1].output_mode} now. The "
            "state stays, and other rows of it are written from the next batch on."
        ),
        how="Check that every sink of the stream expects the new mode.",
        follows_from=(THE_LAST_CONTRACT,),
    )


RULE = Rule(
    code="HF410",
    name="output-mode-changed",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.ALTERS,
    goal=Goal.RESUME,
    needs=Needs.QUERY,
    judge=_judge,
)
