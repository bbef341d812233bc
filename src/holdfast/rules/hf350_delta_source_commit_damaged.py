"""HF350: a commit that the stream has yet to read is cut off or not JSON.

## What it finds

A commit in the log of the Delta table, from the next version on, is empty, cut off or not JSON. It
is *likely*: it holds unless the file was being written while it was read.

## What Spark does

Spark cannot parse the commit and fails at every start.

## What to do

Look at the file again. If it stays damaged, restore it from a backup or from an older version of
the object. Do not delete it: the versions after it would be lost for the stream.

## What it cannot see

Damage inside of lines that name data files.

## Where this comes from

- Delta 4.4.0, `fromJson` in
  [actions.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/actions/actions.scala)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_sources import delta_sources, log_files, newest_entry
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for probe, found in delta_sources(case):
        damaged = [each for each in found.damaged if each >= found.needed_version]
        if not found.is_same_table or not damaged:
            continue
        yield RULE.find(
            what=(
                f"The commit of version {damaged[0]} of {found.shown} is damaged, and source "
                f"{probe.source} has yet to read it. Spark fails at every start."
            ),
            how="Restore the file from a backup or from an older version of the object.",
            follows_from=(newest_entry(case), *log_files(found, damaged[0])),
        )


RULE = Rule(
    code="HF350",
    name="delta-source-commit-damaged",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
