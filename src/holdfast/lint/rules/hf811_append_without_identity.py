"""HF811: foreachBatch appends a batch without anything that recognises it.

## What it finds

A function of `foreachBatch` appends, and nothing in it recognises a batch that is already there: no
batch id, no `txnAppId`, no MERGE or conflict clause. The function is found behind a lambda, a
`functools.partial`, a method or a callable object of the same file. `INSERT INTO` by SQL counts.

## What Spark does

After a stop between the write and the commit, Spark runs the same batch again. The function appends
its rows a second time.

## What to do

Use [`hf.start`](../../guides/exactly-once.md), a MERGE on a key, or Delta's `txnAppId` and
`txnVersion`. If the table has a unique key, the repeated write fails instead.

## What it cannot see

Functions that are imported from another file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.queries import FILE_FORMATS
from holdfast.lint.rule import LintFinding, LintRule

_APPENDS = FILE_FORMATS | {"jdbc", "delta", "iceberg", "sql", "table", "com.databricks.spark.csv"}
_IDENTITY = re.compile(
    r"txnappid|\bmerge\b|upsert|on conflict|on duplicate|left[_ ]?anti|insert ignore|insertifnot|"
    r"delete from|\.delete\(|not exists|replace\s?where|dedup|dropduplicates|whennotmatched",
    re.IGNORECASE,
)


def _judge(program: Program) -> Iterator[LintFinding]:
    for batch in program.batch_functions:
        if batch.names_batch or batch.query.output_mode == "complete":
            continue
        if _IDENTITY.search(batch.text):
            continue
        for write in batch.writes:
            if write.mode == "append" and write.format in _APPENDS and "" not in write.options:
                yield RULE.find(
                    "A restart runs the last batch again and appends it twice. Use hf.start, a "
                    "MERGE on a key, or Delta's txnAppId and txnVersion.",
                    write.at,
                )


RULE = LintRule(
    code="HF811",
    name="append-without-identity",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
