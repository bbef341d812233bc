"""`python -m docsite.llms`: puts `llms.txt`, and every page as Markdown, beside the built site.

A program that reads the documentation gets the pages without menus and scripts: for each page
`guides/facts/` there is `guides/facts.md`, and `llms.txt` lists them in the order of the menu.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from holdfast.cli.skill import FILE as SKILL

ROOT = Path(__file__).parents[1]
_LONGEST = 200


def write_texts(site: Path) -> None:
    """Write the pages and their list into a directory."""
    docs = ROOT / "docs"
    for page in sorted(docs.rglob("*.md")):
        target = site / page.relative_to(docs)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page.read_text())
    (site / "SKILL.md").write_text(SKILL.read_text())
    (site / "llms.txt").write_text("\n".join(_lines()) + "\n")


def _lines() -> Iterator[str]:
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    yield f"# {project['site_name']}"
    yield ""
    yield f"> {project['site_description']}"
    yield ""
    yield "Facts first: `holdfast facts` before any advice, then `holdfast diagnose`. Never delete "
    yield "a checkpoint. [SKILL.md](SKILL.md) has the rules for agents."
    for entry in project["nav"]:
        for name, pages in entry.items():
            yield from ("", f"## {name}", "")
            yield from map(_line, _pages(pages))


def _pages(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield from _matching(nav)
    elif isinstance(nav, dict):
        for each in nav.values():
            yield from _pages(each)
    elif isinstance(nav, list):
        for each in nav:
            yield from _pages(each)


def _matching(page: str) -> Iterator[str]:
    docs = ROOT / "docs"
    found = sorted(docs.glob(page)) if "*" in page else [docs / page]
    yield from (str(each.relative_to(docs)) for each in found)


def _line(page: str) -> str:
    text = (ROOT / "docs" / page).read_text()
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    return f"- [{title[1] if title else page}]({page}): {_first_paragraph(text)}"


def _first_paragraph(text: str) -> str:
    """Return the first prose of a page, in one line and without its links."""
    for block in text.split("\n\n"):
        if block and block[0] not in "#<!|`-*$" and not block.startswith("---"):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(block.split()))
            return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST].rpartition(' ')[0]} …"
    return ""


if __name__ == "__main__":
    write_texts(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site")
