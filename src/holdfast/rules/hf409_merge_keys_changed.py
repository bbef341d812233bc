"""HF409: a sink merges by other keys, or by another order column, than before.

## What it finds

The `keys` or the `sequence_by` of a sink differ from those of the last run, on the same table.

## What Spark does

Spark knows nothing of it. Rows that are in the table were merged by the old keys. With other keys,
a row of before and its successor can both stay. With another order column, an older row can win
over a newer one.

## What to do

Rebuild the table with the new keys: [reset the stream](../../guides/reset.md) into a new table.
Or restore the keys.

The plan for such a reset:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output new-table -o plan.json
```

## What it cannot see

Whether both keys identify the same rows.

## Where this comes from

- Measured, in the repository, by `python -m campaigns.remedies`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.record.contracts import SinkContract
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.commands import NEW_TABLE, resetting
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    found = both_contracts(case)
    if found is None:
        return
    before = {sink.place: sink for sink in found[0].sink_places}
    for sink in found[1].sink_places:
        old = before.get(sink.place)
        if old is None or (old.keys, old.sequence_by) == (sink.keys, sink.sequence_by):
            continue
        yield RULE.find(
            what=(
                f"The sink {sink.place} merged by {_shown(old)} and merges by {_shown(sink)} now. "
                "Rows that it holds were merged in the old way."
            ),
            how=f"Restore the keys. For a new table, {resetting(case, output=NEW_TABLE)}.",
            follows_from=(THE_LAST_CONTRACT,),
            sink=sink.label,
        )


def _shown(sink: SinkContract) -> str:
    keys = ", ".join(sink.keys) or "no key"
    return keys if sink.sequence_by is None else f"{keys} in the order of {sink.sequence_by}"


RULE = Rule(
    code="HF409",
    name="merge-keys-changed",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.ALTERS,
    goal=Goal.RESET,
    needs=Needs.QUERY,
    judge=_judge,
)
