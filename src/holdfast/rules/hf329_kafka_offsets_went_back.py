"""HF329: Kafka offsets in the checkpoint went back, or a partition vanished from it.

## What it finds

In two consecutive offset entries, the offset of a partition goes back, or a partition is named in
the first and not in the second. The newest entries are compared: as many as 500 kB hold, and at
least two.

## What Spark does

Spark writes such an entry only with `failOnDataLoss=false`: the topic was created again, or
deleted, and Spark went on. What was not read of the old topic, and what the new one held until
then, never reached the sink. A restart goes on from the newest entry, as if nothing had happened.

## What to do

Find out what happened to the topic between the two batches. Load what is missing beside the stream,
and set `failOnDataLoss` back to true. For a guarded stream without state, this loads what the topic
still has ([guide](../../guides/backfill.md)):

```sh
holdfast backfill lake:lake readings --from earliest --to '{"readings":{"0":300}}'
```

## What it cannot see

Whether the missing records were loaded since then. An entry that was edited by hand looks the same.

## Where this comes from

- Spark 4.2.0, `getOffsetRangesFromResolvedOffsets` in
  [KafkaOffsetReader.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaOffsetReader.scala)
- Spark 4.2.0, `reportDataLoss` in
  [KafkaMicroBatchStream.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaMicroBatchStream.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.sources import parse_offset
from holdfast.checkpoint.sources.kafka import KafkaOffset
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import EARLIEST, backfilling
from holdfast.rules.rule import Finding, Needs, Rule

_MOST_TEXT = 500_000
_SHOWN = 3


def _judge(case: Case) -> Iterator[Finding]:
    after: dict[str, KafkaOffset] = {}
    seen_text = 0
    for batch in sorted(case.checkpoint.offsets, reverse=True):
        entry = case.checkpoint.offsets[batch]
        before = _offsets(entry) if isinstance(entry, OffsetEntry) else {}
        changes = [
            change
            for source, old in before.items()
            if source in after and batch + 1 in case.checkpoint.offsets
            for change in _compare(old, after[source])
        ]
        if changes:
            yield _finding(case, changes, before=batch)
        if isinstance(entry, OffsetEntry):
            seen_text += sum(len(each.text or "") for each in entry.offsets)
        if seen_text > _MOST_TEXT and after:
            return
        after = before


def _offsets(entry: OffsetEntry) -> dict[str, KafkaOffset]:
    """Return what an entry says of its Kafka sources."""
    parsed = {each.source: parse_offset(each.text) for each in entry.offsets if each.text}
    return {source: each for source, each in parsed.items() if isinstance(each, KafkaOffset)}


def _finding(case: Case, changes: list[str], *, before: int) -> Finding:
    more = len(changes) - _SHOWN
    load = backfilling(case, start=EARLIEST, otherwise="use a bounded job beside the stream")
    told = ", ".join(changes[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    return RULE.find(
        what=(
            f"From batch {before} to {before + 1} the Kafka offsets went back: {told}. Spark went "
            "on with failOnDataLoss=false, so records were passed over; a restart does not read "
            "them either."
        ),
        how=(
            f"Find out what happened to the topic then. To load what is missing, {load}. Set "
            "failOnDataLoss back to true."
        ),
        follows_from=(f"offsets/{before}", f"offsets/{before + 1}"),
    )


def _compare(old: KafkaOffset, new: KafkaOffset) -> Iterator[str]:
    if old == new:
        return
    for topic, offsets in old.partitions.items():
        found = new.partitions.get(topic, {})
        for number, offset in offsets.items():
            end = found.get(number)
            if end is None:
                yield f"{topic}-{number} is not there any more"
            elif end < offset:
                yield f"{topic}-{number} from {offset} to {end}"


RULE = Rule(
    code="HF329",
    name="kafka-offsets-went-back",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.BACKFILL,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
