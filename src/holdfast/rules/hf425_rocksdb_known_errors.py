"""HF425: this version of Spark has known errors with RocksDB state.

## What it finds

The state is in RocksDB, and the Spark to be started is older than 4.2. Errors that mix up its files
after a retried task were corrected up to then: SPARK-43404 (3.5.0), SPARK-46796 (3.5.1),
SPARK-49770 and SPARK-51717 (4.0.0), SPARK-52637 (4.1.0), SPARK-55820 (4.2.0).

## What Spark does

Spark starts. After a task was retried, a later load can fail with `Mismatch in unique ID on table
file` or `Sst file size mismatch`.

## What to do

Use the newest release of your version. Keep a backup of the checkpoint, with the sink at the same
age.

## Where this comes from

- [SPARK-43404](https://issues.apache.org/jira/browse/SPARK-43404)
- [SPARK-46796](https://issues.apache.org/jira/browse/SPARK-46796)
- [SPARK-51717](https://issues.apache.org/jira/browse/SPARK-51717)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.state import ROCKSDB, provider_of
from holdfast.evidence.versions import version_text
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule

_CORRECTED = (4, 2)


def _judge(case: Case) -> Iterator[Finding]:
    if case.overview is None or case.overview.spark >= _CORRECTED:
        return
    stateful = [each for each in case.checkpoint.state if provider_of(each) == ROCKSDB]
    if not stateful:
        return
    yield RULE.find(
        what=(
            f"Spark {version_text(case.overview.spark)} has known errors that mix up files of "
            "RocksDB after a task was retried; a later start then fails to load the state."
        ),
        how="Use the newest release of this version, or Spark 4.2.",
        follows_from=tuple(f"state/{each.operator_id}" for each in stateful),
    )


RULE = Rule(
    code="HF425",
    name="rocksdb-known-errors",
    severity=Severity.NOTE,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
