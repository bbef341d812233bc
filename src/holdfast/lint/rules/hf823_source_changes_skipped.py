"""HF823: a Delta source skips or repeats changed rows."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.queries import format_of_reader, read_options
from holdfast.lint.rule import LintFinding, LintRule

_DOES = {
    "skipchangecommits": "rows that an UPDATE, MERGE or DELETE writes never reach this stream",
    "ignorechanges": "an UPDATE or MERGE sends unchanged rows of rewritten files again",
    "ignoredeletes": "deletes of whole partitions never reach this stream",
}


def _judge(program: Program) -> Iterator[LintFinding]:
    for reader in program.readers:
        if format_of_reader(reader.steps) not in {"delta", "deltasharing", None}:
            continue
        options, _ = read_options(reader.steps)
        for name, does in _DOES.items():
            given = options.get(name)
            if given and (given.value.known or "").lower() == "true":
                yield RULE.find(f"With this option, {does}.", given.at)


RULE = LintRule(
    code="HF823",
    name="source-changes-skipped",
    severity=Severity.RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
