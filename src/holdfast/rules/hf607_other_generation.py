"""HF607: the sink's ledger row is of another generation than the record's current one.

## What it finds

The sink's ledger row is of another generation than the record says. The sink was restored from
before a reset, the record was restored from before it, or a reset was not finished.

## What Spark does

Batch numbers begin at 0 in every generation. Spark would write batches whose numbers mean something
else in the sink.

## What to do

Restore a backup of the sink that was made after the reset. If there is none and the sink's number
is lower, [reset the stream](../../guides/reset.md) again:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

If the sink's number is higher, the record is older than the sink: restore the record.

## What accepting does

The sink is assumed to hold what this generation has committed.

## Where this comes from

- Measured, in the repository, by `tests/spark/test_start.py`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import resetting
from holdfast.rules.rule import Finding, Rule, proven_batch


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    current = evidence.generation.number
    for sink in evidence.sinks:
        if sink.row is None or sink.row.generation == current:
            continue
        yield RULE.find(
            what=(
                f"{sink.shown} belongs to generation {sink.row.generation} of {evidence.stream}, "
                f"but the record says {current}: the sink was restored from before a reset, or a "
                "reset was not finished."
            ),
            how=_how(case, sink.row.generation),
            accepting="the sink is assumed to hold what this generation has committed",
            accepted_batch=proven_batch(evidence, sink),
            follows_from=(f"generations/{current:04d}.json",),
            sink=sink.sink,
        )


def _how(case: Case, theirs: int) -> str:
    assert case.stream is not None
    if theirs > case.stream.generation.number:
        return "Restore the record of the stream from after the reset, or the sink from before it."
    return f"Restore a backup of the sink from after the reset, or {resetting(case)}."


RULE = Rule(
    code="HF607",
    name="other-generation",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESET,
    judge=_judge,
)
