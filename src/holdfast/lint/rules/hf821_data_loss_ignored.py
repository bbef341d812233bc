"""HF821: a source may skip lost data without an error."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.grades import Confidence, Severity
from holdfast.lint.program import Program
from holdfast.lint.queries import FILE_FORMATS, format_of_reader, read_options
from holdfast.lint.rule import LintFinding, LintRule


def _judge(program: Program) -> Iterator[LintFinding]:
    for reader in program.readers:
        options, _ = read_options(reader.steps)
        given = options.get("failondataloss")
        is_file = format_of_reader(reader.steps) in FILE_FORMATS  # they do not know the option
        if given and not is_file and (given.value.known or "").lower() == "false":
            yield RULE.find(
                "failOnDataLoss is false: if data is gone from the source, Spark skips it and only "
                "logs a warning.",
                given.at,
            )


RULE = LintRule(
    code="HF821",
    name="data-loss-ignored",
    severity=Severity.DATA_AT_RISK,
    confidence=Confidence.CERTAIN,
    judge=_judge,
)
