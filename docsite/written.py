"""`python -m docsite.written [--check]`: writes into pages what they have from the code.

With `--check` nothing is written; the pages that are not current are printed, and end it with 1.

A page marks the place with `<!-- written: help drill run -->`, `<!-- written: names errors -->`,
`<!-- written: tools -->` or `<!-- written: spark delta -->`; the text goes up to `<!-- end -->`. It
is committed, because people read these pages in the repository as well as on the site.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

import holdfast
from docsite.api import names_of
from docsite.command_line import help_of
from docsite.events import events_table
from docsite.mcp_tools import tools_table
from docsite.sinks import sinks_table
from holdfast.spark_versions import SUPPORTED

REFERENCE = Path(__file__).parents[1] / "docs/reference"
PAGES = (
    *(
        REFERENCE / f"{name}.md"
        for name in ("api", "command-line", "delta-coordinates", "events", "mcp-tools", "support")
    ),
    REFERENCE.with_name("guides") / "choosing-a-sink.md",
)
_BLOCK = re.compile(
    r"(?P<mark><!-- written: "
    r"(?P<what>help|names|events|sinks|spark|tools) ?(?P<words>[a-z ]*?) ?-->\n)"
    r".*?(?P<end><!-- end -->)",
    re.DOTALL,
)


def rewritten(page: str) -> str:
    """Return a page with every written block as the code has it now."""
    return _BLOCK.sub(_write_block, page)


def _write_block(found: re.Match[str]) -> str:
    words = found["words"].split()
    lines = _WRITERS[found["what"]](words)
    # Without the empty line, Markdown takes a table for part of the comment.
    return "\n".join((found["mark"], *(line.rstrip() for line in lines), "", found["end"]))


def _spark_table(words: list[str]) -> list[str]:
    newest_first = [*reversed(SUPPORTED.items())]
    if words == ["delta"]:
        rows = [f"| {version} | `{row.delta}` |" for version, row in newest_first if row.delta]
        return ["| Spark | `spark.jars.packages` |", "| --- | --- |", *rows]
    rows = ["| Spark | run with | PostgreSQL | Delta | |", "| --- | --- | --- | --- | --- |"]
    for version, row in newest_first:
        jar = row.delta or ""
        delta = f"tested, {jar.split(':')[-1]}" if jar else "refused: there is no Delta for it yet"
        rows.append(
            f"| {version} | PySpark {row.release} | tested | {delta} | {row.note}".rstrip() + " |"
        )
    return [*rows, f"| older than {min(SUPPORTED)} | - | refused | refused | |"]


def _names_table(words: list[str]) -> list[str]:
    (kind,) = words
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


_WRITERS: dict[str, Callable[[list[str]], list[str]]] = {
    "events": lambda words: events_table(*words),
    "help": help_of,
    "names": _names_table,
    "sinks": sinks_table,
    "spark": _spark_table,
    "tools": lambda _: tools_table(),
}


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
