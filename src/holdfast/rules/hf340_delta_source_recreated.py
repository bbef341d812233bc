"""HF340: the Delta table that the stream reads is gone, or is another one.

## What it finds

The checkpoint names the id of the Delta table that it has read. There is no table at the location
now, or a table with another id: it was dropped and created again, replaced, or the query reads
another path.

## What Spark does

Spark fails with `DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE`, or because the path does not
exist. The message advises a new checkpoint, which reads all of the new table: rows that it has from
the old one are duplicated.

## What to do

If the path is wrong, correct it. If the new table holds the old rows too, [reset the
stream](../../guides/reset.md) and fill the output again:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

If the new table holds only new rows, use `--output keep-from-here`: the output keeps the old rows,
and the stream reads the new table from its first version. For a query without Holdfast, start a new
checkpoint with `startingVersion` set to the first version that you do not have.

## What accepting does

Spark does not start, and no row is read.

## What it cannot see

Whether the new table holds rows that the stream has read from the old one.

## Where this comes from

- Delta 4.4.0, `differentDeltaTableReadByStreamingSource` in
  [DeltaSourceOffset.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSourceOffset.scala)
- Delta 4.4.0, `DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE` in
  [delta-error-classes.json](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/resources/error/delta-error-classes.json)
- Measured, in the repository, by `python -m campaigns.situations delta-source-recreated`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.printable import printable
from holdfast.rules.commands import KEEP, resetting
from holdfast.rules.delta_sources import delta_sources, newest_entry
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for probe, found in delta_sources(case):
        if found.newest >= 0 and found.table_id in (None, found.needed_id):
            continue
        there = (
            "does not exist"
            if found.newest < 0
            else f"now has the id {printable(str(found.table_id))}"
        )
        yield RULE.find(
            what=(
                f"Source {probe.source} was the Delta table with the id "
                f"{printable(found.needed_id)}; {found.shown} {there}. Spark refuses to start."
            ),
            how=(
                "Check the path. If the table was created again and has the old rows too, "
                f"{resetting(case)}. If it has only new rows, keep the output: --output {KEEP}."
            ),
            accepting="no row is read: Spark does not start",
            follows_from=(newest_entry(case), f"{found.shown}, its metadata"),
        )


RULE = Rule(
    code="HF340",
    name="delta-source-recreated",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.SOURCE,
    judge=_judge,
)
