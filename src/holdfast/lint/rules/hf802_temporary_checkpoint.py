"""HF802: a checkpoint is in a temporary directory.

## What it finds

A checkpoint is below `/tmp`, `/var/tmp`, `/dev/shm`, `/local_disk0` or the `/tmp` of DBFS or HDFS;
or it is below `tempfile.gettempdir()` or the directory that `TMPDIR` names. A directory that is new
in every run, such as that of `tempfile.mkdtemp()`, is [HF803](HF803.md).

## What Spark does

Nothing, until the directory is cleaned up by a reboot, a new container or a cleaning job. The next
start is then a new query that begins from the source's starting position.

## What to do

Use storage that is kept, such as a bucket or a volume.

## Where this comes from

- Spark 4.2.0, `resolveCheckpointLocation` in
  [ResolveWriteToStream.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/ResolveWriteToStream.scala)
- Spark's documentation:
  [Recovering from Failures with Checkpointing](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#recovering-from-failures-with-checkpointing)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.rule import LintFinding, LintRule

_TEMPORARY = re.compile(
    r"(file:/*|dbfs:/+|hdfs:/{2,3}|/dbfs/)?/?(tmp|var/tmp|local_disk0|dev/shm)(/|$)"
)


def _judge(program: Program) -> Iterator[LintFinding]:
    for query in program.queries:
        checkpoint = query.checkpoint
        if checkpoint is None or program.is_shown_only(query):
            continue
        if below := checkpoint.value.temporary:
            yield RULE.find(
                f"The checkpoint is below {below}, a temporary directory. When it is cleaned up, "
                "Spark starts again from the source's starting position.",
                checkpoint.at,
            )
        start = checkpoint.value.start
        if start.startswith(("/", "file:", "dbfs:", "hdfs:")) and _TEMPORARY.match(start):
            shown = checkpoint.value.known or f"{start}…"
            yield RULE.find(
                f"The checkpoint {shown} is in a temporary directory. When it is cleaned up, Spark "
                "starts again from the source's starting position.",
                checkpoint.at,
            )


RULE = LintRule(
    code="HF802",
    name="temporary-checkpoint",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
