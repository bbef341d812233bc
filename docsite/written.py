"""`python -m docsite.written [--check]`: writes into pages what they have from the code.

With `--check` nothing is written; the pages that are not current are printed, and end it with 1.

A page marks the place with `<!-- written: help drill run -->` or `<!-- written: names errors -->`;
the text goes up to `<!-- end -->`. It is committed, because people read these pages in the
repository as well as on the site.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import holdfast
from docsite.api import names_of
from docsite.command_line import help_of

REFERENCE = Path(__file__).parents[1] / "docs/reference"
PAGES = (REFERENCE / "command-line.md", REFERENCE / "api.md")
_BLOCK = re.compile(
    r"(?P<mark><!-- written: (?P<what>help|names) ?(?P<words>[a-z ]*?) ?-->\n)"
    r".*?(?P<end><!-- end -->)",
    re.DOTALL,
)


def rewritten(page: str) -> str:
    """Return a page with every written block as the code has it now."""
    return _BLOCK.sub(_write_block, page)


def _write_block(found: re.Match[str]) -> str:
    words = found["words"].split()
    lines = help_of(words) if found["what"] == "help" else _names_table(*words)
    # Without the empty line, Markdown takes a table for part of the comment.
    return "\n".join((found["mark"], *(line.rstrip() for line in lines), "", found["end"]))


def _names_table(kind: str) -> list[str]:
    rows = [f"| {_called(name)} | {_first_sentence(name)} |" for name in names_of(kind)]
    return ["| name | what it is |", "| --- | --- |", *rows]


def _called(name: str) -> str:
    """Return a name with its arguments; of an error the name alone, because users catch it."""
    if name.endswith("Error"):
        return f"`hf.{name}`"
    shown, is_named = [], False
    for each in inspect.signature(getattr(holdfast, name)).parameters.values():
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not is_named:
            shown.append("*")
            is_named = True
        shown.append(each.name)
    return f"`hf.{name}({', '.join(shown)})`"


def _first_sentence(name: str) -> str:
    text = inspect.getdoc(getattr(holdfast, name)) or ""
    return " ".join(text.partition("\n\n")[0].split())


def main(words: list[str]) -> int:
    """Write every page again, or say which one is not current."""
    pages = {page: rewritten(page.read_text()) for page in PAGES}
    stale = [page for page, text in pages.items() if page.read_text() != text]
    if "--check" in words:
        for page in stale:
            print(f"{page.name} is not current: python -m docsite.written")
        return 1 if stale else 0
    for page in stale:
        page.write_text(pages[page])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
