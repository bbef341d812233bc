"""A Markdown extension for what pages have from the code.

`<!-- rules -->` and `<!-- lint -->` stand for the tables of the rules, and `<!-- errors -->` for
the index of Spark's errors. `<!-- api errors -->` stands for the public errors. Each is a line of
its own. What people also read in the repository is written into its page: `docsite.written`.
"""

from __future__ import annotations

import re
from typing import Any

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

from docsite.api import api_of
from docsite.error_index import error_index
from docsite.rules import lint_table, rules_table

_MARK = re.compile(r"<!-- (rules|lint|errors|api) ?([a-z ]*?) ?-->")


class MarksExtension(Extension):
    """Registers the preprocessor with Python-Markdown."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Python-Markdown's own name
        """Run before anything else reads the text."""
        md.preprocessors.register(_MarksPreprocessor(md), "holdfast-marks", priority=200)


class _MarksPreprocessor(Preprocessor):
    """Replaces each mark by what it stands for."""

    def run(self, lines: list[str]) -> list[str]:
        """Return the lines without marks."""
        return [each for line in lines for each in replace_mark(line)]


def replace_mark(line: str) -> list[str]:
    """Return what a line stands for; itself, if it is not a mark."""
    mark = _MARK.fullmatch(line)
    if mark is None:
        return [line]
    if mark[1] == "rules":
        return rules_table()
    if mark[1] == "lint":
        return lint_table()
    return error_index() if mark[1] == "errors" else api_of(mark[2])


def makeExtension(**options: Any) -> MarksExtension:  # noqa: N802 - Python-Markdown's own name
    """Return the extension; Python-Markdown calls this by its name."""
    return MarksExtension(**options)
