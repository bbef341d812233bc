"""HF401: the query is not the one that the checkpoint belongs to, and Spark will refuse it.

## What it finds

The query is not the one that the checkpoint belongs to. It has more or fewer sources, or other
stateful operators.

## What Spark does

Spark compares the number of sources with `offsets/<newest>` and, from Spark 4.0, the stateful
operators with their metadata in `state/`. It plans a batch and fails in it. The same happens at
every start.

## What to do

Start the query as it was before. If you want the new query, [reset the
stream](../../guides/reset.md): the checkpoint cannot be used for it.

The plan for such a reset:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

## What accepting does

Spark decides, and fails as above. The ledger does not change.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import resetting
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    evidence = case.stream
    if evidence is None:
        return
    refused = evidence.query_refused
    if refused is not None:
        yield RULE.find(
            what=(
                f"The query was changed, and its checkpoint cannot take it: {refused.because}. "
                f"Spark would fail with: {refused.error}."
            ),
            how=f"Start the query as it was. To begin with the new query, {resetting(case)}.",
            accepting="Spark decides; it plans a batch and fails in it, at every start",
            follows_from=refused.follows_from,
        )


RULE = Rule(
    code="HF401",
    name="query-changed",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.QUERY,
    judge=_judge,
)
