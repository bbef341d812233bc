"""What writes rows one by one: the functions of `foreach`, and calls that insert or send a row."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from holdfast.lint.batch_functions import statement_write
from holdfast.lint.callables import Callee, find_callee, find_method_of
from holdfast.lint.queries import Query
from holdfast.lint.sql import EXECUTES
from holdfast.lint.volatile import name_of

_SENDS = {
    *("requests.post", "httpx.post", "session.post", "producer.send", "producer.produce"),
    *("self.producer.send", "self.producer.produce", "self.session.post"),
}
_INSERTS = frozenset({"insert_one", "insert_many", "put_record", "put_records", "lpush", "rpush"})


def find_row_writer(query: Query) -> tuple[Callee | None, list[Callee]]:
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


def find_row_writes(owners: Iterable[Callee]) -> list[ast.Call]:
    """Return the calls in functions that insert, append or send a row."""
    return [call for owner in owners for call in _calls(owner) if _writes(call, owner)]


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
