"""HF426: the pinned state provider is not the one that wrote the state.

## What it finds

The newest offset entry names another state store provider than the one whose files are in `state/`.
Spark pins the provider, so that the entry was edited.

## What Spark does

Spark takes the provider from the entry, does not find its files, plans the batch and fails in its
tasks.

## What to do

Restore the entry. The provider of a checkpoint cannot be changed: [reset the
stream](../../guides/reset.md) to use another one.

## Where this comes from

- Spark 4.2.0, `relevantSQLConfs` and `setSessionConf` in
  [OffsetSeq.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeq.scala)
- [SPARK-21192](https://issues.apache.org/jira/browse/SPARK-21192)
- Measured, in the repository, by `python -m campaigns.situations state-provider-edited`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.state import HDFS, ROCKSDB, provider_of
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def _judge(case: Case) -> Iterator[Finding]:
    entry = case.checkpoint.newest_readable
    if case.overview is None or entry is None or entry.metadata is None:
        return
    pinned = entry.metadata.conf.get(_PROVIDER, "")
    known = {"RocksDBStateStoreProvider": ROCKSDB, "HDFSBackedStateStoreProvider": HDFS}
    named = known.get(pinned.rpartition(".")[2])
    for operator in case.checkpoint.state if named else ():
        wrote = provider_of(operator)
        if wrote is None or wrote == named:
            continue
        yield RULE.find(
            what=(
                f"Spark will start batch {case.newest_committed + 1}, call its sink and fail: "
                f"offsets/{entry.batch_id} names the {named} state store, but the files in "
                f"state/{operator.operator_id} are {wrote}."
            ),
            how="Restore the offset entry with the provider that wrote the state.",
            accepting="Spark decides; it fails as described, at every start",
            follows_from=(f"offsets/{entry.batch_id}", f"state/{operator.operator_id}"),
        )


RULE = Rule(
    code="HF426",
    name="state-of-another-provider",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
