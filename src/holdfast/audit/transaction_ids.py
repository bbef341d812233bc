"""Whether Delta recognises a batch by the txnAppId and txnVersion that a function gives.

It does if the version is the batch id and the id is the same in every attempt. With a fixed version
Delta skips every batch after the first; with one of the clock it writes a repeated batch again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from holdfast.audit.sink_formats import TAKES_TRANSACTION_ID, USE_BATCH_IDENTITY
from holdfast.audit.sink_judgement import KnownBy, SinkJudgement
from holdfast.grades import Effect, Recognises
from holdfast.lint.batch_functions import BatchFunction, Write
from holdfast.lint.callables import Callee
from holdfast.lint.queries import Option
from holdfast.lint.syntax import Function, parameters_of
from holdfast.lint.texts import Text
from holdfast.lint.values import Values
from holdfast.lint.volatile import name_of

_APP, _VERSION = "txnappid", "txnversion"
_SETTING = re.compile(r"spark[.]databricks[.]delta[.]write[.](txnappid|txnversion)", re.IGNORECASE)
_SET = re.compile(rf"\s*set\s+{_SETTING.pattern}\s*=\s*", re.IGNORECASE)
_SPELLED = {_APP: "txnAppId", _VERSION: "txnVersion"}
_DEEPEST = 12
_CHANGE = "Give the batch id as txnVersion, and a txnAppId that stays the same."


class _Setting(msgspec.Struct, frozen=True):
    """A call that changes one of the two settings of the session."""

    name: str
    call: ast.Call
    given: Option | None
    """None if the call takes the setting away."""
    owner: Callee


def judge_transaction_id(write: Write, batch: BatchFunction) -> SinkJudgement | None:
    """Judge an append by its options, else by the session's settings; None if it has neither."""
    if write.format is not None and write.format not in TAKES_TRANSACTION_ID:
        return None
    options = {name: write.options[name] for name in _SPELLED if name in write.options}
    if write.format is None and not options:
        return None  # the settings of the session are Delta's alone
    changed = [each for owner in batch.callees for each in _changes(owner)]
    given = options or _settings_at(write, changed)
    if not given:
        late = next((each.given for each in changed if each.given is not None), None)
        why = "The session's txnAppId and txnVersion are not surely set before this write."
        return None if late is None else _not_known(why, late)
    if len(given) == 1:
        (name,) = given
        other = _VERSION if name == _APP else _APP
        why = f"{_SPELLED[name]} is given and {_SPELLED[other]} is not found: Delta needs both."
        return _not_known(why, given[name])
    return _judge(given[_APP], given[_VERSION], batch)


def _judge(app: Option, version: Option, batch: BatchFunction) -> SinkJudgement:
    for option, name in ((app, "txnAppId"), (version, "txnVersion")):
        if volatile := option.value.volatile:
            why = f"{name} has {volatile} in it: Delta does not recognise a repeated batch."
            return _no(why, option)
    if _is_batch_id(version, batch):
        by = KnownBy.NUMBER if app.value.fixed else KnownBy.QUERY
        why = "Delta recognises txnAppId and txnVersion."
        return SinkJudgement(recognises=Recognises.YES, why=why, at=app.at, known_by=by)
    if (fixed := version.value.known) is not None and app.value.fixed:
        why = f"txnVersion is always {fixed}: Delta skips every batch after the first."
        return _no(why, version, Effect.LOSES)
    return _not_known("txnVersion is not understood as the id of the batch.", version)


def _no(why: str, option: Option, effect: Effect | None = None) -> SinkJudgement:
    return SinkJudgement(
        recognises=Recognises.NO, why=why, at=option.at, effect=effect, change=USE_BATCH_IDENTITY
    )


def _not_known(why: str, option: Option) -> SinkJudgement:
    return SinkJudgement(recognises=Recognises.NOT_KNOWN, why=why, at=option.at, change=_CHANGE)


def _is_batch_id(option: Option, batch: BatchFunction) -> bool:
    """Return whether a value is the function's own batch id, perhaps through `str` or `int`."""
    if option.source is None:
        return False
    node, values = option.source
    for _ in range(_DEEPEST):
        node, values = values.resolve(node)
        match node:
            case ast.Call(func=ast.Name(id="str" | "int"), args=[inner], keywords=[]):
                node = inner
            case ast.JoinedStr(values=[ast.FormattedValue(value=inner)]):
                node = inner
            case ast.Name():
                return _is_parameter(node, values, batch.callees[0])
            case _:
                return False
    return False


def _is_parameter(node: ast.Name, values: Values, own: Callee) -> bool:
    """Return whether a name is the second parameter of a function, and nothing else."""
    scope = values.syntax.scope_of(node)
    while isinstance(scope, Function):
        if (scope, node.id) in values.syntax.bindings:
            return False
        if node.id in parameters_of(scope):
            return scope is own.function and own.parameters[1:2] == (node.id,)
        scope = values.syntax.scope_of(scope)
    return False


def _settings_at(write: Write, changed: list[_Setting]) -> dict[str, Option]:
    """Return what the function has set for the session when it writes."""
    found: dict[str, Option] = {}
    for name in _SPELLED:
        before = [each for each in changed if each.name == name and _is_before(each, write)]
        if before and (given := before[-1].given) is not None:
            found[name] = given
    return found


def _is_before(setting: _Setting, write: Write) -> bool:
    """Return whether a setting is surely changed before a write; of another function, perhaps."""
    syntax = setting.owner.values.syntax
    if syntax.scope_of(setting.call) is not syntax.scope_of(write.call):
        return setting.given is not None
    inside = syntax.branches_of(setting.call)
    is_earlier = (setting.call.lineno, setting.call.col_offset + 1) < write.at
    return is_earlier and syntax.branches_of(write.call)[: len(inside)] == inside


def _changes(owner: Callee) -> Iterator[_Setting]:
    nodes = owner.values.syntax.nodes_in(owner.function)
    calls = [each for each in nodes if isinstance(each, ast.Call)]
    for call in sorted(calls, key=lambda each: (each.lineno, each.col_offset)):
        match call:
            case ast.Call(func=ast.Attribute(attr="set", value=holder), args=[key, value]):
                found = _SETTING.fullmatch(owner.values.read(key).known or "")
                if found and name_of(holder) in {"conf", "RuntimeConfig"}:
                    yield _Setting(found[1].lower(), call, _option(value, call, owner), owner)
            case ast.Call(func=ast.Attribute(attr="unset"), args=[key]):
                if found := _SETTING.fullmatch(owner.values.read(key).known or ""):
                    yield _Setting(found[1].lower(), call, None, owner)
            case ast.Call(func=ast.Attribute(attr="sql"), args=[statement, *_]):
                yield from _set_by_statement(statement, call, owner)
            case _:
                pass


def _set_by_statement(node: ast.expr, call: ast.Call, owner: Callee) -> Iterator[_Setting]:
    """Yield what a SET statement sets."""
    text = owner.values.read(node)
    found = _SET.match(text.start)
    if found is None:
        return
    at = (call.lineno, call.col_offset + 1)
    given = Option(Text((text.start[found.end() :], *text.parts[1:])), at)
    match owner.values.resolve(node)[0]:
        case ast.JoinedStr(
            values=[ast.Constant(value=str(start)), ast.FormattedValue(value=inner)]
        ):
            if _SET.fullmatch(start):
                given = _option(inner, call, owner)
        case _:
            pass
    yield _Setting(found[1].lower(), call, given, owner)


def _option(value: ast.expr, call: ast.Call, owner: Callee) -> Option:
    at = (call.lineno, call.col_offset + 1)
    return Option(owner.values.read(value), at, (value, owner.values))
