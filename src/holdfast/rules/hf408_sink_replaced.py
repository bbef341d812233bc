"""HF408: the stream writes to other places than in its last run.

## What it finds

None of the sinks of the last run is a sink of the query any more. The stream would continue in the
middle, into another table.

## What Spark does

Spark continues with the next batch. Everything before is in the old sink only. A guarded start
refuses when the new sink has no ledger row of this stream.

## What to do

To move the output, copy the table together with its ledger. To begin anew, [reset the
stream](../../guides/reset.md).

The plan for such a reset:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output new-table -o plan.json
```

## What it cannot see

Whether the new place is a copy of the old one, or the same one under another address.

## Where this comes from

- Spark's documentation:
  [Recovery Semantics after Changes in a Streaming Query](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#recovery-semantics-after-changes-in-a-streaming-query)
- Measured, in the repository, by `python -m campaigns.remedies`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.commands import NEW_TABLE, resetting
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    found = both_contracts(case)
    if found is None:
        return
    before, now = ([sink.place for sink in each.sink_places] for each in found)
    if not before or not now or set(before) & set(now):
        return
    yield RULE.find(
        what=(
            f"The stream wrote to {', '.join(before)} and writes to {', '.join(now)} now. Batches "
            f"up to {case.newest_committed} are not in the new place, and Spark does not read "
            "them again."
        ),
        how=f"Copy the table with its ledger, or {resetting(case, output=NEW_TABLE)}.",
        follows_from=(f"commits/{case.newest_committed}", THE_LAST_CONTRACT),
    )


RULE = Rule(
    code="HF408",
    name="sink-replaced",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.LOSES,
    goal=Goal.RESET,
    needs=Needs.QUERY,
    judge=_judge,
)
