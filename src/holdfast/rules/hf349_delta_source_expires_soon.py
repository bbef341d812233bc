"""HF349: what the stream has yet to read can be deleted within a day.

## What it finds

The stream has versions of its Delta source to read, and within 24 hours Delta may delete a commit
or a data file of them: `delta.logRetentionDuration` and `delta.deletedFileRetentionDuration`
against the age of the versions.

## What Spark does

A start before that time reads everything. After it, a start can fail because commits or files are
gone.

## What to do

Start the query before the time is up, or raise both table properties now.

## What it cannot see

When VACUUM runs, and with which retention.

## Where this comes from

- Delta's documentation:
  [Data retention](https://docs.delta.io/delta-batch/#data-retention)
- Delta's documentation:
  [Remove files no longer referenced by a Delta table](https://docs.delta.io/delta-utility/#remove-files-no-longer-referenced-by-a-delta-table)
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from holdfast.evidence.case import Case
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.delta_sources import delta_sources, log_files, newest_entry
from holdfast.rules.rule import Finding, Needs, Rule

_SOON = timedelta(hours=24)


def _judge(case: Case) -> Iterator[Finding]:
    for probe, found in delta_sources(case):
        left = probe.lossless_for
        if left is None or not timedelta(0) < left <= _SOON or not found.pending:
            continue
        hours, minutes = left.seconds // 3600 + left.days * 24, left.seconds % 3600 // 60
        yield RULE.find(
            what=(
                f"Source {probe.source} has {count(len(found.pending), 'version')} of "
                f"{found.shown} to read. A restart is lossless for another {hours} h {minutes} "
                f"min: {probe.lossless_by}."
            ),
            how=(
                "Start the query before that, or raise delta.logRetentionDuration and "
                "delta.deletedFileRetentionDuration now."
            ),
            follows_from=(newest_entry(case), *log_files(found, found.pending[0].version)),
        )


RULE = Rule(
    code="HF349",
    name="delta-source-expires-soon",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    effect=Effect.NONE,
    goal=Goal.RESUME,
    needs=Needs.SOURCE,
    judge=_judge,
)
