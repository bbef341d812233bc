"""HF811: foreachBatch appends a batch without anything that recognises it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from holdfast.lint.program import Program
from holdfast.lint.queries import FILE_FORMATS
from holdfast.lint.rule import LintConfidence, LintFinding, LintRule, LintSeverity

_APPENDS = FILE_FORMATS | {"jdbc", "delta", "iceberg", "sql", "table", "com.databricks.spark.csv"}
_IDENTITY = re.compile(
    r"txnappid|\bmerge\b|upsert|on conflict|on duplicate|left_?anti|insert ignore|insertifnot|"
    r"delete from|\.delete\(|not exists|replacewhere|dedup|dropduplicates|whennotmatched",
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
    severity=LintSeverity.DATA_AT_RISK,
    confidence=LintConfidence.LIKELY,
    judge=_judge,
)
