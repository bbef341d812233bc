"""HF112: the files that are written once are gone: a lifecycle rule deletes by age.

## What it finds

At least two of the files that Spark writes only once are missing, and newer files are there:
`metadata`, the beginning of a Kafka source, and the metadata and schemas of stateful operators.

## What Spark does

Each of these files has its own effect on the next start. A lifecycle rule of a bucket keeps
deleting: offset entries of a quiet stream and state snapshots are next. If everything expires,
Spark silently begins with batch 0.

## What to do

Exclude the prefix of the checkpoint from every lifecycle rule. Restore the missing files from
object versions.

## Where this comes from

- Spark 4.2.0, `streamMetadata` in
  [StreamingQueryCheckpointMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/StreamingQueryCheckpointMetadata.scala)
- Spark 4.2.0, `getOrCreateInitialPartitionOffsets` in
  [KafkaMicroBatchStream.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaMicroBatchStream.scala)
- Spark 4.2.0, `OperatorStateMetadataV1Writer` in
  [OperatorStateMetadata.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/state/OperatorStateMetadata.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.sources import parse_offset
from holdfast.checkpoint.sources.kafka import KafkaOffset
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule

_LEAST = 2


def _judge(case: Case) -> Iterator[Finding]:
    if case.overview is None or not case.checkpoint.offsets:
        return
    gone = [*_gone_of_query(case), *_gone_of_state(case)]
    if len(gone) < _LEAST:
        return
    yield RULE.find(
        what=(
            f"{' and '.join(gone)} are gone, which Spark writes once, and newer files are there. A "
            "lifecycle rule deletes by age: Spark will fail, or begin with batch 0, when it has "
            "deleted enough."
        ),
        how="Exclude the checkpoint from lifecycle rules, and restore the files.",
        follows_from=tuple(gone),
    )


def _gone_of_query(case: Case) -> Iterator[str]:
    checkpoint = case.checkpoint
    if checkpoint.metadata is None:
        yield "metadata"
    entry = checkpoint.offsets[max(checkpoint.offsets)]
    began = {log.name for log in checkpoint.sources if log.began is not None}
    for each in entry.offsets if isinstance(entry, OffsetEntry) else ():
        is_kafka = isinstance(parse_offset(each.text or ""), KafkaOffset)
        if is_kafka and each.source not in began:
            yield f"sources/{each.source}/0"


def _gone_of_state(case: Case) -> Iterator[str]:
    writers = case.overview.writers.versions if case.overview else ()
    has_metadata = bool(writers) and min(writers) >= (4, 0)
    for operator in case.checkpoint.state:
        home = f"state/{operator.operator_id}"
        if not operator.metadata and operator.stores and has_metadata:
            yield f"{home}/_metadata/metadata"
        if not operator.schemas and operator.stores:
            yield f"{home}/0/_metadata/schema"


RULE = Rule(
    code="HF112",
    name="oldest-files-gone",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
