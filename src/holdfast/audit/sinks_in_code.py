"""Whether the sink of a query recognises a batch that Spark writes again after a kill."""

from __future__ import annotations

import ast

from holdfast.audit.batch_judgement import judge_batch_function
from holdfast.audit.sink_formats import NATIVE, USE_BATCH_IDENTITY
from holdfast.audit.sink_judgement import KnownBy, SinkJudgement
from holdfast.grades import Recognises
from holdfast.lint.batch_functions import SHOWS
from holdfast.lint.batch_ids import BatchIdUse, use_of
from holdfast.lint.callables import Callee, all_called
from holdfast.lint.identity import recognises
from holdfast.lint.program import Program
from holdfast.lint.queries import SHOWN_ONLY, Query
from holdfast.lint.row_writers import find_row_writer, find_row_writes
from holdfast.lint.volatile import name_of


def judge_sink(program: Program, query: Query) -> SinkJudgement:
    """Judge the sink of a query."""
    if query.step("foreachBatch"):
        return _judge_foreach_batch(program, query)
    if query.step("foreach"):
        return _judge_foreach(query)
    return _judge_native(query)


def _judge_native(query: Query) -> SinkJudgement:
    step = query.step("format")
    at = step.at if step else query.at
    kind = query.format
    if kind is None and step is None:
        kind = "table"  # of spark.sql.sources.default, as a new table
    if kind is None:
        return SinkJudgement(
            recognises=Recognises.NOT_KNOWN, why="The code computes the format.", at=at
        )
    if kind in SHOWN_ONLY:
        why = f"The {kind} sink keeps nothing that outlives the driver."
        return SinkJudgement(recognises=Recognises.NOT_KEPT, why=why, at=at)
    known = NATIVE.get(kind)
    if known is None:
        why = f"What the sink {kind} does with a repeated batch is not known."
        return SinkJudgement(recognises=Recognises.NOT_KNOWN, why=why, at=at)
    return SinkJudgement(
        recognises=known.recognises,
        why=known.why,
        at=at,
        known_by=known.known_by,
        effect=known.effect,
        change=known.change,
    )


def _judge_foreach_batch(program: Program, query: Query) -> SinkJudgement:
    batch = program.batch_function_of(query)
    if batch is not None:
        return judge_batch_function(batch)
    return _not_in_file(query, "foreachBatch")


def _not_in_file(query: Query, name: str) -> SinkJudgement:
    step = query.step(name)
    assert step is not None
    given = step.argument(0, "func", "f")
    called = "its function" if given is None else ast.unparse(given)
    return SinkJudgement(
        recognises=Recognises.NOT_KNOWN,
        why=f"{called} is not in this file.",
        at=step.at,
        change=f"Read what {called} does with a batch that it gets twice, or use hf.start.",
    )


def _judge_foreach(query: Query) -> SinkJudgement:
    step = query.step("foreach")
    assert step is not None
    opened, functions = find_row_writer(query)
    if not functions:
        return _not_in_file(query, "foreach")
    called = all_called(functions)
    epoch = (*opened.parameters, "", "")[1] if opened else ""
    if opened is not None and use_of(opened, epoch) is BatchIdUse.RECOGNISES:
        why = "open() uses the epoch id, if it skips exactly the partitions that are written."
        return SinkJudgement(
            recognises=Recognises.DEPENDS, why=why, at=step.at, known_by=KnownBy.NUMBER
        )
    if recognises(called):
        why = "Rows are found again by their key, if it is unique and the same in every attempt."
        return SinkJudgement(
            recognises=Recognises.DEPENDS, why=why, at=step.at, known_by=KnownBy.KEY
        )
    if find_row_writes(called):
        return SinkJudgement(
            recognises=Recognises.NO,
            why="foreach writes every row of a repeated batch a second time.",
            at=step.at,
            change=f"Use foreachBatch. {USE_BATCH_IDENTITY}",
        )
    if _only_shows(called):
        return SinkJudgement(
            recognises=Recognises.NOT_KEPT, why="The function only prints rows.", at=step.at
        )
    why = "Nothing in its functions is understood as a write."
    return SinkJudgement(recognises=Recognises.NOT_KNOWN, why=why, at=step.at)


def _only_shows(called: list[Callee]) -> bool:
    nodes = (each for owner in called for each in ast.walk(owner.function))
    return {name_of(each.func) for each in nodes if isinstance(each, ast.Call)} <= SHOWS
