"""HF811: foreachBatch appends a batch without anything that recognises it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.batch_ids import BatchIdUse
from holdfast.lint.identity import identity_of
from holdfast.lint.program import Program
from holdfast.lint.queries import FILE_FORMATS
from holdfast.lint.rule import LintFinding, LintRule

_APPENDS = FILE_FORMATS | {"jdbc", "delta", "iceberg", "sql", "table", "com.databricks.spark.csv"}
_AGAIN = "A restart runs the last batch again and appends it twice"
_STORED = "; a batch id that is only stored does not prevent it"
_USE = "Use hf.start, a MERGE on a key, or Delta's txnAppId and txnVersion."


def _judge(program: Program) -> Iterator[LintFinding]:
    for batch in program.batch_functions:
        is_whole = batch.query.output_mode == "complete"
        identity = identity_of(batch.callees)
        if is_whole or batch.batch_id_use is BatchIdUse.RECOGNISES or identity.is_general:
            continue
        stored = _STORED if batch.batch_id_use is BatchIdUse.STORED else ""
        for write in batch.writes:
            is_judged = write.format in _APPENDS and "" not in write.options
            is_known = identity.covers(write.table) or write.is_log
            if write.mode == "append" and is_judged and not is_known:
                yield RULE.find(f"{_AGAIN}{stored}. {_USE}", write.at)


RULE = LintRule(
    code="HF811",
    name="append-without-identity",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
