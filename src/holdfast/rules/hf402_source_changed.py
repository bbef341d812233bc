"""HF402: the query reads another directory or topic than the one that its checkpoint counts.

## What it finds

The query reads another directory or another Kafka topic than in its last run, on the same
checkpoint. If no guarded run has used the checkpoint yet, as after a migration to another cluster,
the topics of its newest entry are compared instead. Topics that are added are no finding: Spark
reads them from their beginning. Patterns of topics and assigned partitions are not compared. The
same sources in another order are another finding. A `pathGlobFilter` that was added or changed
counts as another directory, and so does a `recursiveFileLookup` that was switched off.

## What Spark does

With another directory, Spark fails with `Wrong basePath`. If the new directory contains the old
one, Spark starts and reads what else is there; from then on a start with the old directory fails.

With another `pathGlobFilter`, Spark starts. It reads what matches from the beginning, and nothing
more of what matched before.

With another topic, Spark fails because the partitions of the old one are gone ("Some data may have
been lost"). With `failOnDataLoss=false` it starts instead, and what was not read of the old topic
is lost.

## What to do

Start the query with its old source. Give the new source a stream of its own, with another name. If
the data itself was moved, [reset the stream](../../guides/reset.md).

The plan for such a reset:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

Spark goes on with the new source, from its beginning. What was not read of the old one is lost. The
ledger does not change.

## Where this comes from

- Spark 4.2.0, `Wrong basePath` in
  [PartitioningAwareFileIndex.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/datasources/PartitioningAwareFileIndex.scala)
- Spark 4.2.0, `getOffsetRangesFromResolvedOffsets` in
  [KafkaOffsetReader.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/KafkaOffsetReader.scala)
- Spark's documentation:
  [Recovery Semantics after Changes in a Streaming Query](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#recovery-semantics-after-changes-in-a-streaming-query)
- Measured, in the repository, by `tests/spark/test_changed_source.py`
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.sources.kafka import parse_kafka_offset
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ids import BatchId
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.commands import resetting
from holdfast.rules.rule import Finding, Needs, Rule
from holdfast.rules.source_identity import find_narrowed, find_swapped

_FILES, _KAFKA = "FileSource[", "kafka "
_MORE = re.compile(r"[][*+?(){}|^$\\]")
"""In a pattern of topics, or in assigned partitions: what it stands for is not in the text."""


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    before, now = evidence.sources_before, evidence.sources
    where = "in the last run"
    if before is None:
        where = "in the checkpoint"
        before = _topics_of_checkpoint(case, now)
    if evidence.newest_planned < 0 or len(before) != len(now):
        return
    if Counter(before) == Counter(now):
        yield from _judge_options(case)
        return
    for number, (old, new) in enumerate(zip(before, now, strict=True)):
        if not _is_replaced(old, new):
            continue
        yield RULE.find(
            what=(
                f"Source {number} was {old} {where} and is {new} now. The checkpoint "
                "counts what was read of the old one. Spark fails at the start, or reads "
                "everything in the new one and nothing more of the old one."
            ),
            how=(
                "Start the query with its old source, or start the new source as a stream of its "
                f"own, with another name. If the data was moved, {resetting(case)}."
            ),
            accepting=(
                f"Spark decides; if it starts, {new} is read from its beginning, what was not "
                f"read of {old} is lost, and a later start with the old source can fail"
            ),
            follows_from=(f"offsets/{evidence.newest_planned}", "the contract of the last run"),
        )


def _topics_of_checkpoint(case: Case, now: Sequence[str]) -> tuple[str, ...]:
    """Return the sources with the topics of the newest entry: no run has told of them.

    So it is after a migration to another cluster, and when a checkpoint is adopted.
    """
    entry = case.checkpoint.offsets.get(BatchId(case.newest_planned))
    if not isinstance(entry, OffsetEntry) or len(entry.offsets) != len(now):
        return ()
    parsed = (parse_kafka_offset(each.text or "") for each in entry.offsets)
    return tuple(
        source if offset is None or not offset.partitions else _KAFKA + ",".join(offset.partitions)
        for source, offset in zip(now, parsed, strict=True)
    )


def _judge_options(case: Case) -> Iterator[Finding]:
    """Find sources that read less of their directory than in the last run."""
    found = both_contracts(case)
    if found is None or find_swapped(*found):
        return
    for number, old, new in find_narrowed(*found):
        yield RULE.find(
            what=(
                f"Source {number} was {old} in the last run and is {new} now. Spark starts: it "
                "reads all files that match now and that it has not read yet, and no more of the "
                "others."
            ),
            how=(
                "Start the query with its old options, or start the new source as a stream of its "
                "own, with another name."
            ),
            accepting=(
                "files that match now are read from the beginning, and what was not read of those "
                "that no longer match is lost"
            ),
            follows_from=(f"offsets/{case.newest_planned}", "the contract of the last run"),
        )


def _is_replaced(old: str, new: str) -> bool:
    """Return whether something that was read is not read any more; topics may be added."""
    if all(each.startswith(_FILES) for each in (old, new)):
        return _path(old) != _path(new)
    if all(each.startswith(_KAFKA) and not _MORE.search(each) for each in (old, new)):
        return not _topics(old) <= _topics(new)
    return False


def _path(source: str) -> str:
    """Return a directory without what can be written in several ways."""
    path = source.removeprefix(_FILES).removesuffix("]")
    scheme, colon, rest = path.rpartition(":")
    rest = re.sub("/+", "/", rest).rstrip("/")
    return rest if scheme in ("", "file") else f"{scheme.replace('s3a', 's3')}{colon}{rest}"


def _topics(source: str) -> set[str]:
    return {topic.strip() for topic in source.removeprefix(_KAFKA).split(",")}


RULE = Rule(
    code="HF402",
    name="source-changed",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.LOSES,
    goal=Goal.RESET,
    needs=Needs.QUERY,
    judge=_judge,
)
