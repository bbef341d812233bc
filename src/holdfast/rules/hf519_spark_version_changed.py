"""HF519: another version of Spark starts the query.

## What it finds

The version of Spark differs from that of the last run in its first two numbers.

## What Spark does

A newer version reads the checkpoints of an older one, and writes its own formats from the next
batch on. From then on the older version may not read them any more. Defaults of settings that are
not pinned can differ: Spark 4.0 switched ANSI mode on.

## What to do

Before an upgrade, keep a copy of the checkpoint: it is the way back. After a downgrade, compare the
results of the first batches.

## What it cannot see

What a vendor's build of Spark does.

## Where this comes from

- Spark's documentation:
  [Structured Streaming Migration Guide](https://spark.apache.org/docs/latest/streaming/ss-migration-guide.html)
- Spark's documentation:
  [SQL Migration Guide](https://spark.apache.org/docs/latest/sql-migration-guide.html)
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
    if found is None or not found[0].spark:
        return
    before, now = (each.spark.split(".")[:2] for each in found)
    if before == now:
        return
    yield RULE.find(
        what=(
            f"The last run was on Spark {found[0].spark}, and this is Spark {found[1].spark}. From "
            "the next batch on, the checkpoint has the formats of the new version."
        ),
        how="Keep a copy of the checkpoint before the first start: it is the way back.",
        follows_from=(THE_LAST_CONTRACT,),
    )


RULE = Rule(
    code="HF519",
    name="spark-version-changed",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.QUERY,
    judge=_judge,
)
