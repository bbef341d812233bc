"""HF204: the newest offset entry lists another number of sources.

## What it finds

The newest offset entry has more or fewer lines with offsets than the one before it. An editor that
adds a line end is enough.

## What Spark does

Spark counts the lines and fails: `There are [1] sources in the checkpoint offsets and now there are
[2] sources`.

## What to do

Restore the entry. If the query itself was changed, start it as it was before.

## Where this comes from

- Spark 4.2.0, `toStreamProgress` in
  [OffsetSeq.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeq.scala)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Restore the entry with one line for each source."


def _judge(case: Case) -> Iterator[Finding]:
    return find_refusal(RULE, case, how=_HOW)


RULE = Rule(
    code="HF204",
    name="entry-with-other-sources",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
