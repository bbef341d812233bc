"""HF405: the query subscribes to more Kafka topics than in its last run.

## What it finds

A Kafka source has topics that it did not have in its last run, or another pattern of topics, or
another way to name them.

## What Spark does

Spark reads a topic that is not in the checkpoint from its earliest offset. `startingOffsets` is for
new queries only. An old topic is therefore read completely.

## What to do

If you want only new records of the added topic, give it a stream of its own with `startingOffsets`.

## What it cannot see

Which topics a pattern stands for.

## Where this comes from

- Spark 4.2.0, `getOffsetRangesFromResolvedOffsets` in
  [KafkaOffsetReader.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaOffsetReader.scala)
- Spark's documentation:
  [Structured Streaming + Kafka Integration Guide](https://spark.apache.org/docs/latest/streaming/structured-streaming-kafka-integration.html)
- Measured, in the repository, by `python -m campaigns.edits`
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.rule import Finding, Needs, Rule

_SUBSCRIBING = ("assign", "subscribe", "subscribePattern")


def _judge(case: Case) -> Iterator[Finding]:
    found = both_contracts(case)
    if found is None or len(found[0].source_options) != len(found[1].source_options):
        return
    both = zip(found[0].source_options, found[1].source_options, strict=True)
    for number, (old, new) in enumerate(both):
        before, now = _subscription(old), _subscription(new)
        if not before or not now or before == now or _is_reduced(before, now):
            continue
        yield RULE.find(
            what=(
                f"Source {number} subscribed to {_shown(before)} in the last run and to "
                f"{_shown(now)} now. Spark reads a topic that the checkpoint does not have from "
                "its earliest offset, whatever startingOffsets says."
            ),
            how="If only new records are wanted, give the added topic a stream of its own.",
            follows_from=(f"offsets/{case.newest_planned}", THE_LAST_CONTRACT),
        )


def _subscription(options: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """Return what a source subscribes to, and how; empty when it is not Kafka's."""
    return {
        name: frozenset(each.strip() for each in options[name].split(","))
        for name in _SUBSCRIBING
        if name in options
    }


def _is_reduced(before: dict[str, frozenset[str]], now: dict[str, frozenset[str]]) -> bool:
    """Return whether topics were only taken away, which is another finding."""
    both = before.get("subscribe"), now.get("subscribe")
    return both[0] is not None and both[1] is not None and both[1] <= both[0]


def _shown(subscription: dict[str, frozenset[str]]) -> str:
    return " ".join(
        f"{name}={','.join(sorted(topics))}" for name, topics in sorted(subscription.items())
    )


RULE = Rule(
    code="HF405",
    name="topics-added",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.QUERY,
    judge=_judge,
)
