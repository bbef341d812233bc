"""What a lint rule is: the facts of one program in, findings out.

A rule is one module `rules/hf8<nn>_<name>.py` with a `RULE` in it, one page
`pages/HF8<nn>.md` and one file of cases. Findings are values and can be pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum

import msgspec

from holdfast.grades import Confidence, Severity, read_page
from holdfast.lint.program import Program
from holdfast.lint.purposes import Purpose


class CheckpointFault(StrEnum):
    """What is wrong with the checkpoint of a query: it decides how the query starts again."""

    MISSING = "missing"
    TEMPORARY = "temporary"
    CHANGES = "changes"
    """Every start has another one."""
    DELETED = "deleted"
    """It is deleted before every start."""
    SHARED = "shared"
    REFUSED = "refused"
    """Spark does not continue from it."""


class CodePosition(msgspec.Struct, frozen=True, order=True):
    """Where something is in the text that was parsed: line and column, from 1."""

    line: int
    column: int


class LintFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule found at one place."""

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    position: CodePosition


class QueryUse(msgspec.Struct, frozen=True, kw_only=True):
    """A query with a known checkpoint, to be compared with those of other files."""

    path: str
    place: str
    """Its checkpoint location; of a relative one, with the directory of the file before it."""
    purpose: Purpose
    at: tuple[int, int]
    """Where the checkpoint is given, in the text that was parsed."""
    cell: int | None
    line: int
    code_line: str
    ignored: frozenset[str] | None
    """The codes that a comment on the line names; None if it names none and means all."""


class LintRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of lint."""

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    judge: Callable[[Program], Iterator[LintFinding]]
    judge_across: Callable[[list[QueryUse]], Iterator[tuple[QueryUse, LintFinding]]] | None = None
    """What it finds in the queries of all files together."""
    fault: CheckpointFault | None = None
    """What it finds wrong with a checkpoint."""
    change: str | None = None
    """What makes such a checkpoint safe, in one sentence."""

    @property
    def page(self) -> str:
        """What explains it, in Markdown, without its title."""
        return read_page("holdfast.lint", self.code)

    def find(self, message: str, at: tuple[int, int]) -> LintFinding:
        """Return a finding of this rule at a line and a column."""
        return LintFinding(
            code=self.code,
            name=self.name,
            severity=self.severity,
            confidence=self.confidence,
            message=message,
            position=CodePosition(*at),
        )
