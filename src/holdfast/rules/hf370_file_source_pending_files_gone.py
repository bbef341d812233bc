"""HF370: files of a batch that is not committed are gone.

## What it finds

The checkpoint has planned a batch that is not committed, and input files of that batch do not exist
any more. A lifecycle rule, a cleanup job or `cleanSource` of another query deleted them.

## What Spark does

Spark runs the batch again, reads the files that are left, and commits it. A missing input file is
no error: Spark logs a warning at most. The rows of the missing files never reach the sink.

## What to do

Restore the files, at the same paths, before you start the query. If they cannot be restored, note
their names and fill the gap from another copy of the data.

## What accepting does

Spark commits the batch without the missing files. Their rows never reach the sink.

## What it cannot see

Whether a sink already holds the batch, unless that sink was looked at too.

## Where this comes from

- Spark 4.2.0, `getBatch` in
  [FileStreamSource.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/FileStreamSource.scala)
- Measured, in the repository, by
  `python -m campaigns.situations file-source-pending-files-gone`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.progress import Amount
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import file_sources, holds_batch
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    pending = case.newest_planned
    if holds_batch(case, pending) or pending <= case.newest_committed:
        return
    for source, found in file_sources(case):
        gone = found.pending.gone
        if not gone:
            continue
        yield RULE.find(
            what=(
                f"Spark runs batch {pending} again without {gone:,} of its input files "
                f"({found.pending}): {found.pending.first_gone} does not exist any more. Spark "
                "reports no error, and the rows are lost."
            ),
            how="Restore the files at the same paths before you start the query.",
            accepting=f"the rows of {count(gone, 'missing input file')} never reach the sink",
            amount=Amount(number=gone, unit="file"),
            follows_from=(f"sources/{source}", f"offsets/{pending}"),
        )


RULE = Rule(
    code="HF370",
    name="file-source-pending-files-gone",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
