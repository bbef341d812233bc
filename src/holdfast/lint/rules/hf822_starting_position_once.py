"""HF822: a starting position is meant to move a stream, and applies to its first start only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.chains import ChainLink
from holdfast.lint.program import Program
from holdfast.lint.queries import Option, Query, read_options
from holdfast.lint.rule import LintFinding, LintRule

_NAMES = ("startingoffsets", "startingtimestamp", "startingversion", "startingoffsetsbytimestamp")
_MEANT = re.compile(
    r"re-?process|re-?play|rewind|re-?read|re-?consume|start(?:ing)? over|from[ _]scratch|"
    r"back-?fill|full_?refresh|full_?reload|from_(?:the_)?(?:beginning|start)|reset",
    re.IGNORECASE,
)
_KNOWS = re.compile(r"checkpoint|first|initial|only|ignore|no effect|new query", re.IGNORECASE)


def _judge(program: Program) -> Iterator[LintFinding]:
    stable = [each for each in program.queries if _has_stable_checkpoint(each)]
    for reader in program.readers if any(each.checkpoint for each in program.queries) else ():
        options, _ = read_options(reader.steps)
        for name in _NAMES:
            given = options.get(name)
            if given is None:
                continue
            believed = _is_commented(program, given) or _is_flagged(reader.steps, name)
            if _is_exact(name, given.value.known) or (stable and believed):
                yield _found(given)
    yield from _moved(program, stable)


def _found(given: Option) -> LintFinding:
    return RULE.find(
        "This position applies only while there is no checkpoint. A restart continues from the "
        "checkpoint and ignores it. To move a stream, plan a reset or a rewind.",
        given.at,
    )


def _has_stable_checkpoint(query: Query) -> bool:
    return query.checkpoint is not None and query.checkpoint.value.is_same(query.checkpoint.value)


def _is_exact(name: str, value: str | None) -> bool:
    if value is None:
        return False
    if name == "startingoffsets":
        return value.lstrip().startswith("{")
    return value.lower() not in {"latest", "0", "1", "earliest"}


def _is_commented(program: Program, given: Option) -> bool:
    """Return whether a comment at an option speaks of reading again, and not of a first start."""
    lines = program.lines
    number = min(given.at[0], len(lines)) - 1
    comments = [lines[number].partition("#")[2]] if number >= 0 else []
    while number > 0 and lines[number - 1].lstrip().startswith("#"):
        number -= 1
        comments.append(lines[number])
    said = " ".join(comments)
    return bool(_MEANT.search(said)) and not _KNOWS.search(said)


def _is_flagged(steps: tuple[ChainLink, ...], name: str) -> bool:
    """Return whether a condition chooses the position by a flag that speaks of reading again."""
    for step in steps:
        key = step.text(0, "key") if step.name == "option" else None
        value = step.argument(1, "value")
        if key is None or key.known is None or key.known.lower() != name or value is None:
            continue
        chosen, _ = step.values.resolve(value)
        if isinstance(chosen, ast.IfExp):
            return bool(_MEANT.search(ast.unparse(chosen.test)))
    return False


def _moved(program: Program, stable: list[Query]) -> Iterator[LintFinding]:
    """Yield the later of two starts of one query with different positions."""
    for number, query in enumerate(stable):
        position = _position(query)
        earlier = (each for each in stable[:number] if _share(query, each))
        others = [_position(each) for each in earlier if not _differ(program, query, each)]
        if position and any(each and each.value.known != position.value.known for each in others):
            yield _found(position)


def _position(query: Query) -> Option | None:
    given = read_options(query.source)[0].get(_NAMES[0])
    return given if given and given.value.known else None


def _differ(program: Program, one: Query, other: Query) -> bool:
    return program.purpose_of(one).differs(program.purpose_of(other))


def _share(one: Query, other: Query) -> bool:
    given = (one.checkpoint, other.checkpoint)
    return bool(given[0] and given[1] and given[0].value.is_same(given[1].value))


RULE = LintRule(
    code="HF822",
    name="starting-position-once",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
