"""HF111: the checkpoint is in a temporary directory or on the disk of a cluster.

## What it finds

The checkpoint is below `/tmp`, `/var/tmp`, `/dev/shm`, `/local_disk0` or another place that a
reboot, a clean-up or the end of a cluster empties.

## What Spark does

If the directory is gone, Spark begins with batch 0 and says nothing: it skips what arrived in
between, or reads everything again.

## What to do

Move the checkpoint of a stream that matters to durable storage, while no driver runs: copy the
directory completely, and start once from there.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Spark's documentation:
  [Recovering from Failures with Checkpointing](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#recovering-from-failures-with-checkpointing)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule

_TEMPORARY = (
    *("/tmp/", "/var/tmp/", "/private/tmp/", "/private/var/folders/", "/dev/shm/"),  # noqa: S108 - named
    *("/local_disk0/", "/databricks/driver/", "/dbfs/tmp/", "/mnt/tmp/", "/content/"),
)


def _judge(case: Case) -> Iterator[Finding]:
    place = case.checkpoint.location
    if case.overview is None or place.scheme != "file":
        return
    for directory in _TEMPORARY:
        if place.path.startswith(directory):
            yield RULE.find(
                what=(
                    f"The checkpoint is in {directory.rstrip('/')}. If that directory is emptied, "
                    "Spark will silently begin with batch 0."
                ),
                how="Move the checkpoint to durable storage while no driver runs.",
                follows_from=(str(place),),
            )


RULE = Rule(
    code="HF111",
    name="location-can-vanish",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
