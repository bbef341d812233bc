"""HF218: two drivers wrote the same log entry at the same time.

## What it finds

Two temporary files for one log entry are there, written within a minute of each other. Two drivers
planned or committed the same batch.

## What Spark does

One of the two fails, where the store can rename without overwriting. On a store that cannot, both
continue. Both may have written the batch to the sink.

## What to do

Find both drivers and stop one. Compare the sink with the ranges of the newest batches. Then give
the stream an owner: a guarded stream has one.

## Where this comes from

- Spark 4.2.0, `createAtomic` and `renameTempFile` in
  [CheckpointFileManager.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/CheckpointFileManager.scala)
- Spark's documentation:
  [Integration with Cloud Infrastructures](https://spark.apache.org/docs/latest/cloud-integration.html)
- [SPARK-26425](https://issues.apache.org/jira/browse/SPARK-26425)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta

from holdfast.checkpoint.layout import parse_name
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule

_TOGETHER = timedelta(minutes=1)


def _judge(case: Case) -> Iterator[Finding]:
    if case.overview is None:
        return
    by_entry: dict[str, list[str]] = defaultdict(list)
    for path in case.checkpoint.leftovers:
        if path in case.times:
            home, _, _ = path.rpartition("/")
            by_entry[f"{home}/{parse_name(path).target}"].append(path)
    for entry, paths in by_entry.items():
        written = sorted(case.times[path] for path in paths)
        if len(written) < 2 or written[1] - written[0] > _TOGETHER:
            continue
        yield RULE.find(
            what=(
                f"Two drivers wrote {entry} at the same time: {len(paths)} temporary files for it "
                "were written within a minute. The sink may hold that batch "
                "twice, or with another range."
            ),
            how="Find both drivers and stop one, then compare the sink with the newest ranges.",
            follows_from=tuple(paths),
        )


RULE = Rule(
    code="HF218",
    name="two-writers",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.REPEATS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
