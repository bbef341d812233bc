"""HF823: a Delta source skips or repeats changed rows.

## What it finds

A Delta source has `skipChangeCommits`, `ignoreChanges` or `ignoreDeletes` set to true.

## What Spark does

`skipChangeCommits` skips every commit that changes rows, with the new rows in it. `ignoreChanges`
sends unchanged rows of rewritten files again. `ignoreDeletes` skips deletes of whole partitions.

## What to do

Read the change data feed and merge it, or make sure that nothing but appends matters downstream.

## Where this comes from

- Delta 4.4.0, `validateCommitAndDecideSkipping` in
  [DeltaSource.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSource.scala)
- Delta's documentation:
  [Ignore updates and deletes](https://docs.delta.io/delta-streaming/#ignore-updates-and-deletes)
- Measured, in the repository, by `python -m campaigns.situations delta-source-skipped`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.queries import format_of_reader, read_options
from holdfast.lint.rule import LintFinding, LintRule

_DOES = {
    "skipchangecommits": "rows that an UPDATE, MERGE or DELETE writes never reach this stream",
    "ignorechanges": "an UPDATE or MERGE sends unchanged rows of rewritten files again",
    "ignoredeletes": "deletes of whole partitions never reach this stream",
}


def _judge(program: Program) -> Iterator[LintFinding]:
    for reader in program.readers:
        if format_of_reader(reader.steps) not in {"delta", "deltasharing", None}:
            continue
        options, _ = read_options(reader.steps)
        for name, does in _DOES.items():
            given = options.get(name)
            if given and (given.value.known or "").lower() == "true":
                yield RULE.find(f"With this option, {does}.", given.at)


RULE = LintRule(
    code="HF823",
    name="source-changes-skipped",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
