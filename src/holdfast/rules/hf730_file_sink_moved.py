"""HF730: the output's log lists files in another directory.

## What it finds

The log of the file sink lists files by their complete URI, and these URIs are not in the directory
that was looked at. The output was moved or copied.

## What Spark does

Spark's readers follow the log and leave out files that are not in the directory: they see none of
them, and report nothing. A restarted query adds its batches, and readers see only those.

## What to do

Write to the old directory, or rewrite the paths in `_spark_metadata` when you move an output. For a
new directory, use a new checkpoint and copy the old rows with a batch job.

## What it cannot see

Whether the directory has two names, such as a mount in a container: then Spark may see the files
where the log says they are.

## Where this comes from

- Spark 4.2.0, `allFilesFromLog` in
  [MetadataLogFileIndex.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MetadataLogFileIndex.scala)
- Spark 4.2.0, `FileStreamSinkLog` in
  [FileStreamSinkLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sinks/FileStreamSinkLog.scala)
- Measured, in the repository, by `python -m campaigns.situations file-sink-output-moved`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_outputs
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for output in file_outputs(case):
        if not output.elsewhere:
            continue
        yield RULE.find(
            what=(
                f"Spark's readers of {output.shown} do not see {output.elsewhere:,} of the "
                f"{output.files:,} files in its log: they are listed in another directory, such as "
                f"{output.first_elsewhere}. A restart adds only new batches."
            ),
            how="Use the directory that the log names, or rewrite the paths in _spark_metadata.",
            accepting="readers see only what is written from now on",
            amount=Amount(number=output.elsewhere, unit="file"),
            follows_from=("_spark_metadata",),
        )


RULE = Rule(
    code="HF730",
    name="file-sink-moved",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.REPLAY,
    needs=Needs.OUTPUT,
    judge=_judge,
)
