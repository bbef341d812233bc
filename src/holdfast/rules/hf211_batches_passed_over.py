"""HF211: several batches are not committed, and Spark runs only the newest again.

## What it finds

More than one batch above the newest commit entry was planned. Commit entries were deleted or not
copied, or several drivers wrote the logs.

## What Spark does

Spark runs only the newest of them again and logs a warning (`not trailing batchid … by one`). It
never runs the others. What of them is not in the sink is lost.

## What to do

Check which of these batches the sink holds. If it holds them all, the commit entries can be
restored, and nothing is lost. If one is missing, load its range with a bounded job beside the
stream: the offset entries say where it begins and ends. The job for a guarded stream without state
([guide](../../guides/backfill.md)):

```sh
holdfast backfill lake:lake readings --from '{"readings":{"0":600}}' --to '{"readings":{"0":900}}'
```

## What it cannot see

Whether the batches reached the sink. Spark plans a batch only after the one before it was
committed, so that they did unless the logs come from several places.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `tests/spark/test_restart_table.py`
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import RunsAgain
from holdfast.evidence.progress import SourceRange, find_ranges
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import OFFSETS, backfilling, position_of
from holdfast.rules.log_entries import amount_text, batches_text, total_of
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if not isinstance(start, RunsAgain) or not start.passed_over:
        return
    passed = start.passed_over
    ranges = [each for batch in passed for each in find_ranges(case.checkpoint, batch)]
    amount = total_of(ranges)
    yield RULE.find(
        what=(
            f"Spark will run only batch {start.batch_id} again and will never run "
            f"{batches_text(passed)}{amount_text(amount)}, planned and never committed. "
            "Rows that are not in the sink yet are lost."
        ),
        how=(
            f"Check that the sink holds {batches_text(passed)}, then restore the commit entries. "
            f"To load what is missing, {_load(case, ranges)}."
        ),
        accepting=f"{batches_text(passed)} are never run; what the sink lacks of them is lost",
        follows_from=(*start.follows_from, *(f"offsets/{batch}" for batch in passed)),
        amount=amount,
    )


def _load(case: Case, ranges: Sequence[SourceRange]) -> str:
    start = end = OFFSETS
    if len({each.source for each in ranges}) == 1:
        start, end = position_of(ranges[0].start), position_of(ranges[-1].end)
    return backfilling(case, start=start, end=end, otherwise="use a bounded job")


RULE = Rule(
    code="HF211",
    name="batches-passed-over",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.BACKFILL,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
