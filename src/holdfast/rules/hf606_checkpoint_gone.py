"""HF606: the sink holds batches of the stream, and its checkpoint is empty: it was deleted.

## What it finds

The sink holds batches of the stream, but the checkpoint has no entries. It was deleted, often to
"reset" the job, or the stream was started with another `root=` before.

## What Spark does

Spark would begin with batch 0, at the position that the source's options say. With Kafka's
`startingOffsets` at `earliest`, every row is duplicated. With `latest`, the default, everything
since the last batch is lost.

## What to do

Start the stream with the root of before, or restore the checkpoint. If you want to begin again,
[reset the stream](../../guides/resetting.md).

## What accepting does

Spark begins with batch 0, at the position that the source's options say. Rows that it reads again
are duplicated, unless you emptied or replaced the output first. Rows before that position are
skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Rule, proven_batch


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    for sink in evidence.sinks:
        if sink.row is None or sink.row.last_batch < 0 or evidence.newest_planned >= 0:
            continue
        yield RULE.find(
            what=(
                f"{sink.shown} holds {evidence.stream} up to batch {sink.row.last_batch}, but its "
                f"checkpoint {evidence.binding.checkpoint} has no entries: it was deleted, or "
                "the stream was started with another root before. "
                "Spark would begin with batch 0 where the source's options say: it would "
                "duplicate what the sink holds, or skip what came since."
            ),
            how="Start it with the root of before, or restore the checkpoint. To begin anew on "
            "purpose, reset the stream.",
            accepting=(
                "Spark begins with batch 0 where the source's options say: rows that it reads "
                "again are duplicated, rows before that position are skipped"
            ),
            accepted_batch=proven_batch(evidence, sink),
            follows_from=("offsets",),
            sink=sink.sink,
        )


RULE = Rule(
    code="HF606",
    name="checkpoint-gone",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.REPEATS,
    goal=Goal.RESET,
    judge=_judge,
)
