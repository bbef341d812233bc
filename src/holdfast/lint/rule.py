"""What a lint rule is: the facts of one program in, findings out.

A rule is one module `rules/hf8<nn>_<name>.py` with a `RULE` in it, one page
`docs/reference/rules/HF8<nn>.md` and one file of cases. Findings are values and can be pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from holdfast.lint.program import Program


class LintSeverity(StrEnum):
    """What the finding does to the stream."""

    DATA_AT_RISK = "data-at-risk"
    """A restart, or a failed batch, loses or duplicates rows."""
    RISK = "risk"
    """The stream does not do what it seems to do, or a guarantee is weakened."""
    NOTE = "note"
    """Worth knowing before a restart."""


class LintConfidence(StrEnum):
    """How sure a lint rule is."""

    CERTAIN = "certain"
    """It follows from the code."""
    LIKELY = "likely"
    """It follows unless something outside the file prevents it."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Where something is in the text that was parsed: line and column, from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """What one rule found at one place."""

    code: str
    name: str
    severity: LintSeverity
    confidence: LintConfidence
    message: str
    position: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRule:
    """One rule of lint."""

    code: str
    name: str
    severity: LintSeverity
    confidence: LintConfidence
    judge: Callable[[Program], Iterator[LintFinding]]

    def find(self, message: str, at: tuple[int, int]) -> LintFinding:
        """Return a finding of this rule at a line and a column."""
        return LintFinding(
            code=self.code,
            name=self.name,
            severity=self.severity,
            confidence=self.confidence,
            message=message,
            position=Position(*at),
        )
