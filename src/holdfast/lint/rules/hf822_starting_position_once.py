"""HF822: an exact starting position applies to the first start only.

## What it finds

A source has an exact starting position, such as offsets for each partition, a timestamp or a table
version, and a query has a checkpoint.

## What Spark does

Spark uses the position only while there is no checkpoint. After that it continues from the
checkpoint and ignores the option.

## What to do

Nothing, if that is what you want. To read again from a position, [reset the
stream](../../guides/reset.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.queries import read_options
from holdfast.lint.rule import LintFinding, LintRule

_NAMES = ("startingoffsets", "startingtimestamp", "startingversion", "startingoffsetsbytimestamp")


def _judge(program: Program) -> Iterator[LintFinding]:
    if not any(query.checkpoint for query in program.queries):
        return
    for reader in program.readers:
        options, _ = read_options(reader.steps)
        for name in _NAMES:
            given = options.get(name)
            if given and _is_exact(name, given.value.known):
                yield RULE.find(
                    "This position applies only while there is no checkpoint. A restart continues "
                    "from the checkpoint and ignores it.",
                    given.at,
                )


def _is_exact(name: str, value: str | None) -> bool:
    if value is None:
        return False
    if name == "startingoffsets":
        return value.lstrip().startswith("{")
    return value.lower() not in {"latest", "0", "1", "earliest"}


RULE = LintRule(
    code="HF822",
    name="starting-position-once",
    severity=Severity.NOTE,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
