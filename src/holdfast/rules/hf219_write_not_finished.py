"""HF219: a temporary file is there, and the file that it should become is not.

## What it finds

A writer was stopped before it renamed its temporary file, or the rename was lost. A kill leaves
such files.

## What Spark does

Spark ignores the file. If the next start needs the missing file, that is a finding of its own.

## What to do

Nothing, if the start is predicted to work. If a state file is missing whose temporary file is
complete, the temporary file can be copied to its name.

## Where this comes from

- Spark 4.2.0, `createAtomic` and `renameTempFile` in
  [CheckpointFileManager.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/CheckpointFileManager.scala)
- Spark 4.2.0, `isBatchFile` and `getLatestBatchId` in
  [HDFSMetadataLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/HDFSMetadataLog.scala)
- Measured, in the repository, by `tests/spark/test_restart_table.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.layout import parse_name
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    checkpoint = case.checkpoint
    if case.overview is None:
        return
    there = {f"offsets/{batch}" for batch in checkpoint.offsets}
    there |= {f"commits/{batch}" for batch in checkpoint.commits}
    there |= {
        f"{store.directory}/{file.name}"
        for operator in checkpoint.state
        for store in operator.stores
        for file in store.files
    }
    lost = [
        path
        for path in checkpoint.leftovers
        if f"{path.rpartition('/')[0]}/{parse_name(path).target}" not in there
    ]
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        yield RULE.find(
            what=(
                f"Spark will ignore {lost[0]}{more}: the file was not renamed to its final name, "
                "because its writer was stopped or the rename was lost."
            ),
            how="Nothing needs to be done, unless a file that the start needs is missing.",
            follows_from=tuple(lost[:20]),
        )


RULE = Rule(
    code="HF219",
    name="write-not-finished",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
