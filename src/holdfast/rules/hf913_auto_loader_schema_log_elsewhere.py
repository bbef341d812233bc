"""HF913: Auto Loader's schema log is not in the checkpoint: it is elsewhere, or gone.

## What it finds

The checkpoint belongs to Databricks Auto Loader, and it has no `_schemas/` directory. The option
`cloudFiles.schemaLocation` names another directory, the query passes a schema of its own, or the
schema log was deleted.

## What Spark does

With the log, Auto Loader starts with the newest schema in it. Without the log, it infers the schema
again from a sample of the files. Columns can then be missing, or have another type than in the
sink.

## What to do

Look up `cloudFiles.schemaLocation` in the code of the query, and check that `_schemas/` is there.
Copy it together with the checkpoint when you move the stream.

## Where this comes from

- Databricks's documentation:
  [Configure schema inference and evolution in Auto Loader](https://docs.databricks.com/aws/en/ingestion/cloud-object-storage/auto-loader/schema)
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.sources.auto_loader import SCHEMAS
from holdfast.evidence.auto_loader import find_auto_loader
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if SCHEMAS in case.checkpoint.foreign or next(find_auto_loader(case.checkpoint), None) is None:
        return
    yield RULE.find(
        what=(
            f"The checkpoint of Auto Loader has no {SCHEMAS}/. If its schema log was deleted, "
            "Spark starts with a schema that is inferred anew."
        ),
        how=f"Check that {SCHEMAS}/ is in the directory that cloudFiles.schemaLocation names.",
        follows_from=(f"offsets/{case.newest_planned}",),
    )


RULE = Rule(
    code="HF913",
    name="auto-loader-schema-log-elsewhere",
    severity=Severity.NOTE,
    confidence=Confidence.UNKNOWN,
    effect=Effect.NONE,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
