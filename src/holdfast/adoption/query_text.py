"""A query of a program, with the text that it was parsed from."""

from __future__ import annotations

import ast

import msgspec

from holdfast.adoption.text_edits import ProgramText
from holdfast.lint.program import Program
from holdfast.lint.queries import Query


class QueryText(msgspec.Struct, frozen=True):
    """What is needed to write the query in another way."""

    program: Program
    query: Query
    text: ProgramText

    def of(self, node: ast.expr) -> str:
        """Return the text of an expression, without parentheses around it."""
        return self.text.of(node)
