"""HF914: how many files wait for Auto Loader is not in the checkpoint.

## What it finds

The checkpoint belongs to Databricks Auto Loader. Its offset says how many files were read, not how
many are waiting.

## What Spark does

With directory listing, Auto Loader lists the input directory at the start and finds every file that
is still there. With file notifications, it reads the messages of a queue. A queue forgets messages
after its retention time, and Auto Loader does not see these files until it lists the directory
again.

## What to do

If the query uses file notifications and was stopped for longer than the queue keeps its messages,
set `cloudFiles.backfillInterval` before you start it. Auto Loader then lists the directory too.

## What it cannot see

Which of the two modes the query uses, and the queue.

## Where this comes from

- Databricks's documentation:
  [What is Auto Loader?](https://docs.databricks.com/aws/en/ingestion/cloud-object-storage/auto-loader/)
- Databricks's documentation:
  [Configure Auto Loader for production workloads](https://docs.databricks.com/aws/en/ingestion/cloud-object-storage/auto-loader/production)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.auto_loader import find_auto_loader
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for source, offset in find_auto_loader(case.checkpoint):
        yield RULE.find(
            what=(
                f"Source {source} is Auto Loader at file {offset.sequence:,}. How many files wait "
                "is not known: a queue of file notifications can have forgotten some of them."
            ),
            how=(
                "If the query was stopped for longer than its queue keeps messages, set "
                "cloudFiles.backfillInterval before you start it."
            ),
            follows_from=(f"offsets/{case.newest_planned}",),
        )


RULE = Rule(
    code="HF914",
    name="auto-loader-backlog-unknown",
    severity=Severity.NOTE,
    confidence=Confidence.UNKNOWN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
