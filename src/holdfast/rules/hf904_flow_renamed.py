"""HF904: a flow began at batch 0 on a source that another flow of the table had read: a new name.

## What it finds

A flow of Spark Declarative Pipelines began at batch 0, after another flow of the same table had
ended, and both read the same topic, directory or table. The flow was probably renamed. By default a
flow has the name of its function.

## What Spark does

The name is part of the checkpoint's path. A renamed flow has a new checkpoint, so Spark reads the
source from its beginning and appends all of it to the table again. A table that merges by keys
takes it without duplicates.

## What to do

If the first run is not over, give the flow its old name back. The old checkpoint is still there,
and Spark continues from it. After the first run, run the pipeline with `--full-refresh TABLE`.

To rename a function without renaming its flow, pass `name=` to `append_flow`.

## What it cannot see

Whether two flows with different filters read the same source on purpose, one after the other.

## Where this comes from

- Spark 4.2.0, `flowCheckpointsDirOpt` in
  [SystemMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/pipelines/src/main/scala/org/apache/spark/sql/pipelines/graph/SystemMetadata.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    place = case.flow
    if place is None or not place.is_current or place.table.newest_listed is not None:
        return
    new = place.looked_at
    if new.current.number != 0 or new.current.oldest_planned != 0:
        return
    for old in place.table.flows:
        if not old.is_replaced_by(new):
            continue
        shared = sorted(set(old.current.reads) & set(new.current.reads))
        yield RULE.find(
            what=(
                f"Flow {new.name} of {place.table.name} began at batch 0 after flow {old.name} had "
                f"ended at batch {old.current.newest_planned}. Both read {', '.join(shared)}. If "
                "the flow was renamed, Spark appends everything that the source still has again."
            ),
            how=(
                f"Give the flow its name {old.name} back, or run the pipeline with --full-refresh "
                f"{place.table.name.rpartition('.')[2]}."
            ),
            follows_from=(
                f"{old.name}/{old.current.number}/offsets/{old.current.newest_planned}",
                f"{new.name}/{new.current.number}/offsets/0",
            ),
        )


RULE = Rule(
    code="HF904",
    name="flow-renamed",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESET,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
