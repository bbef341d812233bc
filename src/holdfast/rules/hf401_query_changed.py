"""HF401: the query is not the one that the checkpoint belongs to, and Spark will refuse it.

## What it finds

The query is not the one that the checkpoint belongs to. It has more or fewer sources, or other
stateful operators. Or the query is the one of the last run, and the checkpoint was changed: its
`state/` was deleted, for example.

## What Spark does

Spark compares the number of sources with `offsets/<newest>` and, from Spark 4.0, the stateful
operators with their metadata in `state/`. It plans a batch and fails in it. The same happens at
every start.

## What to do

If the query was changed, start it as it was before. If the checkpoint was changed, restore it. If
you want the new query, or if there is no backup, [reset the stream](../../guides/reset.md): the
checkpoint cannot be used.

The plan for such a reset:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

Spark decides, and fails as above. The ledger does not change.

## Where this comes from

- Spark 4.2.0, `toStreamProgress` in
  [OffsetSeq.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeq.scala)
- Spark 4.2.0, `checkOperatorValidWithMetadata` in
  [IncrementalExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/IncrementalExecution.scala)
- [SPARK-46906](https://issues.apache.org/jira/browse/SPARK-46906)
- Measured, in the repository, by `tests/spark/test_restart_changed.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import resetting
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    refused = evidence.query_refused
    if refused is not None:
        yield RULE.find(
            what=(f"{_changed(case)}: {refused.because}. Spark would fail with: {refused.error}."),
            how=_how(case),
            accepting="Spark decides; it plans a batch and fails in it, at every start",
            follows_from=refused.follows_from,
        )


def _changed(case: Case) -> str:
    if _is_same_query(case):
        return "The checkpoint was changed, and does not fit its own query any more"
    return "The query was changed, and its checkpoint cannot take it"


def _how(case: Case) -> str:
    if _is_same_query(case):
        return f"Restore the checkpoint from a backup. If there is none, {resetting(case)}."
    return f"Start the query as it was. To begin with the new query, {resetting(case)}."


def _is_same_query(case: Case) -> bool:
    """Return whether the query is the one of the last run."""
    query = case.query
    if query is None:  # looked at from outside, the contract of the last run is the query
        return case.record is not None
    before, now = query.before, query.now
    if before is None:
        return False
    return (len(before.sources), before.operators) == (len(now.sources), now.operators)


RULE = Rule(
    code="HF401",
    name="query-changed",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.QUERY,
    judge=_judge,
)
