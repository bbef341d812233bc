"""HF806: a memory sink has a checkpoint that it cannot continue from."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.queries import Query
from holdfast.lint.rule import CheckpointFault, LintFinding, LintRule


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
    fault=CheckpointFault.REFUSED,
    change="Write to a table, or leave checkpointLocation out and give the query a name.",
)
