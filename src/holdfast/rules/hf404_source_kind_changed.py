"""HF404: a source is of another kind than the one that its checkpoint counts.

## What it finds

A source of the query is of another kind than in its last run: files instead of Kafka, a Delta table
instead of files.

## What Spark does

Each kind writes offsets of its own form. Spark hands the offset of the old source to the new one,
which cannot read it, and the query fails at the start.

## What to do

Start the query with its old source. Give the new source a stream of its own, with another name, or
[reset the stream](../../guides/reset.md).

The plan for such a reset:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

Spark decides, and fails as above. The ledger does not change.

## Where this comes from

- Spark 4.2.0, `toStreamProgress` in
  [OffsetSeq.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeq.scala)
- Spark's documentation:
  [Recovery Semantics after Changes in a Streaming Query](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#recovery-semantics-after-changes-in-a-streaming-query)
- Measured, in the repository, by `python -m campaigns.situations source-of-another-kind`
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.commands import resetting
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    found = both_contracts(case)
    if found is None:
        return
    old, new = found[0].sources, found[1].sources
    if len(old) != len(new) or Counter(old) == Counter(new):
        return
    for number, (before, now) in enumerate(zip(old, new, strict=True)):
        if _kind(before) == _kind(now):
            continue
        yield RULE.find(
            what=(
                f"Source {number} was {before} in the last run and is {now} now. Its offset in "
                f"offsets/{case.newest_planned} is of another form, and Spark fails at the start."
            ),
            how=(
                "Start the query with its old source, or give the new source its own stream. To "
                f"begin again with the new source, {resetting(case)}."
            ),
            accepting="Spark decides; it cannot read the old offset and fails at the start",
            follows_from=(f"offsets/{case.newest_planned}", THE_LAST_CONTRACT),
        )


def _kind(source: str) -> str:
    """Return what a source is, without its place: `FileSource`, `kafka`."""
    return source.partition("[")[0].partition(" ")[0]


RULE = Rule(
    code="HF404",
    name="source-kind-changed",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.QUERY,
    judge=_judge,
)
