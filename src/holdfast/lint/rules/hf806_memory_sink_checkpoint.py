"""HF806: a memory sink has a checkpoint that it cannot continue from.

## What it finds

A query writes to the memory sink with a checkpoint location of its own, and its output mode is not
`complete`. Or a memory sink has no `queryName`.

## What Spark does

The memory sink loses its rows with the session, so Spark refuses to continue: "This query does not
support recovering from checkpoint location." The first start works, the second fails. Only
`complete` can continue. Without a `queryName` no start works. Both are
[measured](../../explanation/what-the-web-says.md#four-claims-that-need-no-server).

## What to do

To look at data, leave `checkpointLocation` out and give the query a name. To try a restart, write
to a table or to files.

## Where this comes from

- Spark 4.2.0, `MemorySink` in
  [memory.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/sources/memory.scala)
- Spark 4.2.0, `This query does not support recovering from checkpoint location` in
  [error-conditions.json](https://github.com/apache/spark/blob/v4.2.0/common/utils/src/main/resources/error/error-conditions.json)
- Measured, in the repository, by `python -m campaigns.web_claims`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.queries import Query
from holdfast.lint.rule import LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    for query in program.queries:
        if query.format != "memory" or query.is_open:
            continue
        if not _is_named(query):
            yield RULE.find(
                "The memory sink has no queryName: Spark refuses to start the query.", query.at
            )
        elif query.checkpoint and _is_refused(query):
            yield RULE.find(
                "A memory sink continues from no checkpoint in this output mode: the second start "
                "fails. Leave checkpointLocation out, or write to a table.",
                query.checkpoint.at,
            )


def _is_named(query: Query) -> bool:
    in_start = query.steps[-1].argument(9, "queryName") is not None
    options = {"queryname"} & set(query.options)
    return in_start or bool(options) or any(query.step(name) for name in ("queryName", "name"))


def _is_refused(query: Query) -> bool:
    assert query.checkpoint is not None
    return query.output_mode in {"append", "update"} and not query.checkpoint.value.volatile


RULE = LintRule(
    code="HF806",
    name="memory-sink-checkpoint",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
