"""HF804: two queries use one checkpoint."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.purposes import source_texts, target_texts
from holdfast.lint.queries import Query
from holdfast.lint.rule import CheckpointFault, LintFinding, LintRule, QueryUse
from holdfast.lint.texts import Hole, Text


def _judge(program: Program) -> Iterator[LintFinding]:
    for number, query in enumerate(program.queries):
        if query.checkpoint is None:
            continue
        if _is_in_loop(program, query):
            yield RULE.find(
                "Every pass of the loop starts another query with the same checkpoint. Spark stops "
                "one of them, or continues one from the other's offsets.",
                query.checkpoint.at,
            )
        for earlier in program.queries[:number]:
            if _shares(program, query, earlier):
                yield RULE.find(
                    f"The query started at line {earlier.at[0]} uses the same checkpoint. Spark "
                    "stops one of them, or continues one from the other's offsets.",
                    query.checkpoint.at,
                )
                break


def _shares(program: Program, one: Query, other: Query) -> bool:
    if one.checkpoint is None or other.checkpoint is None:
        return False
    if not one.checkpoint.value.is_same(other.checkpoint.value):
        return False
    where = (one.site or one.started, other.site or other.started)
    return not program.syntax.is_exclusive(*where) and _differ(program, one, other)


def _differ(program: Program, one: Query, other: Query) -> bool:
    """Return whether two queries are surely not one query that is started twice."""
    scopes = {program.syntax.scope_of(each.site or each.started) for each in (one, other)}
    if len(scopes) > 1:
        return False
    functions = [program.batch_function_of(each) for each in (one, other)]
    written = {id(each.function) for each in functions if each}
    return len(written) == 2 or program.purpose_of(one).differs(program.purpose_of(other))


def _is_in_loop(program: Program, query: Query) -> bool:
    """Return whether a loop starts a query for each of its elements, all with one checkpoint."""
    assert query.checkpoint is not None
    keys = {
        f"{name.id}@{name.lineno}"
        for node, where in program.syntax.branches_of(query.site or query.started)
        if isinstance(node, ast.For) and where == "body"
        for name in ast.walk(node.target)
        if isinstance(name, ast.Name)
    }
    batch = program.batch_function_of(query)
    texts = (*source_texts(query), *target_texts(query, batch))
    varies = any(_has(text, keys) for text in texts if text is not None)
    checkpoint = query.checkpoint.value
    return varies and checkpoint.is_same(checkpoint) and not _has(checkpoint, keys)


def _has(text: Text, keys: set[str]) -> bool:
    return any(isinstance(part, Hole) and part.key in keys for part in text.parts)


def _judge_across(uses: list[QueryUse]) -> Iterator[tuple[QueryUse, LintFinding]]:
    earlier: dict[str, list[QueryUse]] = {}
    for use in uses:
        found = earlier.setdefault(use.place, [])
        shared = (each for each in found if each.path != use.path)
        other = next((each for each in shared if each.purpose.differs(use.purpose)), None)
        found.append(use)
        if other is not None:
            yield (
                use,
                RULE.find(
                    f"A query in {other.path}, line {other.line}, uses the same checkpoint. Spark "
                    "stops one of them, or continues one from the other's offsets.",
                    use.at,
                ),
            )


RULE = LintRule(
    code="HF804",
    name="checkpoint-shared",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
    judge_across=_judge_across,
    fault=CheckpointFault.SHARED,
    change="Give every query a checkpointLocation of its own.",
)
