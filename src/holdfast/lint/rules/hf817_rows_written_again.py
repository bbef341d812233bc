"""HF817: foreach writes rows one by one, and writes them again after a restart."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.batch_functions import statement_write
from holdfast.lint.batch_ids import BatchIdUse, use_of
from holdfast.lint.callables import Callee, all_called, find_callee, find_method_of
from holdfast.lint.identity import recognises
from holdfast.lint.program import Program
from holdfast.lint.queries import Query
from holdfast.lint.rule import LintFinding, LintRule
from holdfast.lint.sql import EXECUTES
from holdfast.lint.volatile import name_of

_SENDS = {
    *("requests.post", "httpx.post", "session.post", "producer.send", "producer.produce"),
    *("self.producer.send", "self.producer.produce", "self.session.post"),
}
_INSERTS = frozenset({"insert_one", "insert_many", "put_record", "put_records", "lpush", "rpush"})


def _judge(program: Program) -> Iterator[LintFinding]:
    for query in program.queries:
        step = query.step("foreach")
        if step is None:
            continue
        opened, functions = _functions(query)
        called = all_called(functions)
        if not any(_writes(call, owner) for owner in called for call in _calls(owner)):
            continue
        epoch = (*opened.parameters, "", "")[1] if opened else ""
        recognised = opened is not None and use_of(opened, epoch) is BatchIdUse.RECOGNISES
        if not recognised and not recognises(called):
            yield RULE.find(
                "A restart runs the last batch again, and foreach writes its rows a second time. "
                "Use foreachBatch with a MERGE on a key, or hf.start.",
                step.at,
            )


def _functions(query: Query) -> tuple[Callee | None, list[Callee]]:
    """Return what opens a partition, and what writes its rows."""
    step = query.step("foreach")
    given = step.argument(0, "f") if step else None
    if step is None or given is None:
        return None, []
    methods = [find_method_of(given, name, step.values) for name in ("open", "process", "close")]
    if methods[1] is not None:
        return methods[0], [each for each in methods if each is not None]
    function = find_callee(given, step.values)
    return None, [] if function is None else [function]


def _calls(owner: Callee) -> Iterator[ast.Call]:
    return (each for each in ast.walk(owner.function) if isinstance(each, ast.Call))


def _writes(call: ast.Call, owner: Callee) -> bool:
    name = name_of(call.func)
    if name in EXECUTES:
        written = statement_write(call, owner.values)
        return written is not None and written.mode == "append"
    if name == "open" and isinstance(call.func, ast.Name) and len(call.args) > 1:
        mode = call.args[1]
        return isinstance(mode, ast.Constant) and "a" in str(mode.value)
    return name in _INSERTS or ast.unparse(call.func) in _SENDS


RULE = LintRule(
    code="HF817",
    name="rows-written-again",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.LIKELY,
    judge=_judge,
)
