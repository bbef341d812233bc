"""HF518: a setting that changes results differs, and Spark does not pin it.

## What it finds

A setting of the session that changes what a query computes differs from that of the last run: the
time zone, ANSI mode, case sensitivity, how dates are parsed or rebased.

## What Spark does

Spark does not keep these settings in the checkpoint. It takes the new value from the next batch on,
and for the batch that is run again. Rows of the same data get other values; keys of state can split
in two.

## What to do

Set the old value for this stream, in the code and not only on the cluster.

## What it cannot see

Whether the query uses what the setting changes.

## Where this comes from

- Spark 4.2.0, `relevantSQLConfs` and `setSessionConf` in
  [OffsetSeq.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeq.scala)
- Measured, in the repository, by `python -m campaigns.edits`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.query_to_start import THE_LAST_CONTRACT
from holdfast.evidence.session_settings import UNPINNED
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.changed_query import both_contracts
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    found = both_contracts(case)
    if found is None:
        return
    before, now = found[0].settings, found[1].settings
    for name, does in UNPINNED.items():
        if name not in before or name not in now or before[name] == now[name]:
            continue
        yield RULE.find(
            what=(
                f"{name} was {before[name]} in the last run and is {now[name]} now. Spark does "
                f"not pin it: {does}."
            ),
            how=f"Set {name}={before[name]} for this stream.",
            follows_from=(THE_LAST_CONTRACT,),
        )


RULE = Rule(
    code="HF518",
    name="session-setting-changed",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.ALTERS,
    goal=Goal.RESUME,
    needs=Needs.QUERY,
    judge=_judge,
)
