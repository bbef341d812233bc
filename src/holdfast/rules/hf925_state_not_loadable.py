"""HF925: a state file is missing or damaged.

## What it finds

The last error came from loading the state: a file is missing, files do not belong together, or a
checksum does not fit. Where the message names the file, the finding says whether it is there now.

## What Spark does

Spark fails at every start. Deleting `state/` does not help: Spark needs the state of the last
committed batch.

## What to do

Restore the files from a backup or from the versions of the bucket. Look for lifecycle rules. If
`foreachBatch` did not read its complete batch, fix that first.

## What it cannot see

The error is of the past. Whether its cause is still there, only the checkpoint, the source and the
sink can show: give them to `holdfast diagnose` as well.

## Where this comes from

- Spark 4.2.0, `CANNOT_LOAD_STATE_STORE` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `tests/spark/test_error_reading.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import find_error
from holdfast.rules.rule import Finding, Needs, Rule

CAUSES = (
    Cause.STATE_FILE_MISSING,
    Cause.STATE_FILES_DISAGREE,
    Cause.NOT_CONSUMED,
)


def _judge(case: Case) -> Iterator[Finding]:
    yield from find_error(case, RULE, CAUSES)


RULE = Rule(
    code="HF925",
    name="state-not-loadable",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.ERROR,
    judge=_judge,
)
