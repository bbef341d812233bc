"""HF811: foreachBatch appends a batch without anything that recognises it.

## What it finds

A function of `foreachBatch` appends, and nothing in it recognises a batch that is already there: no
MERGE, no conflict clause, no `txnAppId`, no delete or comparison with the batch id. A batch id that
is only stored, as a column or in a row, recognises nothing. Neither does a function's name.

The function is found behind a lambda, a `functools.partial`, a method or a callable object of the
same file. `INSERT INTO` by SQL counts.

## What Spark does

After a stop between the write and the commit, Spark runs the same batch again. The function appends
its rows a second time. A column with the batch id changes nothing: Spark's writer appends. A kill
after such a write [duplicated 999 of 10,000 rows](../../explanation/what-the-web-says.md).

## What to do

Use [`hf.start`](../../guides/exactly-once.md), a MERGE on a key, or Delta's `txnAppId` and
`txnVersion`. If the table has a unique key, the repeated write fails instead.

## What it cannot see

Functions that are imported from another file.

## Where this comes from

- Spark's documentation:
  [Using Foreach and ForeachBatch](https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#using-foreach-and-foreachbatch)
- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by
  `python -m campaigns.restart_damage --only jdbc-append-killed`
"""

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
