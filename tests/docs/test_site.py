"""The site: every page is in the menu, nothing comes from outside, pictures are what is drawn."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import click
import pytest

import holdfast
from docsite.api import api_of, kind_of
from docsite.marks import replace_mark
from docsite.pictures import ASSETS, PICTURES
from docsite.written import rewritten
from holdfast.cli.main import holdfast as holdfast_command
from tests.house.repository import ROOT, python_files

SITE = ROOT / "site"
SETTINGS = (ROOT / "docs/reference/settings.md").read_text()
SETTING = re.compile(r"\"(spark\.(?:holdfast|sql|databricks|driver)\.[A-Za-z0-9.]+)\"")
VARIABLE = re.compile(r"\"((?:HOLDFAST|AWS)_[A-Z0-9_]+)\"")


def menu(nav: object) -> list[str]:
    """Return the pages of a menu, one after the other."""
    if isinstance(nav, str):
        return [nav]
    if isinstance(nav, dict):
        nav = list(nav.values())
    assert isinstance(nav, list)
    return [page for each in nav for page in menu(each)]


def test_every_page_is_in_the_menu_once() -> None:
    config = tomllib.loads((ROOT / "zensical.toml").read_text())
    shown = menu(config["project"]["nav"])
    pages = {str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md")}
    rules = {page for page in pages if page.startswith("reference/rules/")}
    assert sorted(shown) == sorted({*(pages - rules), "reference/rules/*"})


def test_the_site_loads_nothing_from_outside() -> None:
    pages = sorted(SITE.rglob("*.html"))
    assert pages, "build it with: make docs"
    loads = re.compile(
        r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=\"(?:https?:)?//([^\"]*)\""
    )
    # The theme fetches these from outside when a page has one; none has.
    fetches = re.compile(r"class=\"(?:mermaid|glightbox|pyodide)\b")
    for page in pages:
        text = page.read_text()
        assert loads.findall(text) == [], page
        assert fetches.findall(text) == [], page


@pytest.mark.parametrize("name", sorted(PICTURES))
def test_a_picture_is_what_is_drawn(name: str) -> None:
    drawn = PICTURES[name]().svg()
    assert (ASSETS / name).read_text() == drawn, "draw it again with: python -m docsite.pictures"
    assert "prefers-color-scheme: dark" in drawn
    assert not re.search(r"<script|@import|url\((?!#)", drawn)


def test_every_public_name_is_in_the_api_reference() -> None:
    page = (ROOT / "docs/reference/api.md").read_text()
    kinds = ("functions", "classes", "errors")
    assert re.findall(r"^<!-- api (\w+) -->$", page, re.MULTILINE) == list(kinds)
    shown = {line for kind in kinds for line in api_of(kind) if line.startswith(":::")}
    names = [name for name in holdfast.__all__ if name != "__version__"]
    assert shown == {f"::: holdfast.{name}" for name in names}
    assert {kind_of(name) for name in names} == set(kinds)


def test_a_mark_stands_for_what_the_code_says() -> None:
    assert replace_mark("no mark") == ["no mark"]
    assert replace_mark("<!-- lint -->")[2].startswith("| [HF801](rules/HF801.md) ")
    assert replace_mark("<!-- rules -->")[2].startswith("| [HF101](rules/HF101.md) ")


def test_what_is_written_into_pages_is_what_the_code_says() -> None:
    # In a process of its own: click keeps the help option that a command was first shown with.
    words = [sys.executable, "-m", "docsite.written", "--check"]
    ran = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
    assert (ran.stdout, ran.returncode) == ("", 0), ran.stderr


@pytest.mark.parametrize(
    ("mark", "line"),
    [
        ("help ledger ddl", "Usage: holdfast ledger ddl [OPTIONS]"),
        ("names errors", "| `hf.HoldfastError` | Base of every error"),
    ],
)
def test_what_is_not_current_is_written_again(mark: str, line: str) -> None:
    page = f"Before.\n\n<!-- written: {mark} -->\n\nold\n\n<!-- end -->\n\nAfter.\n"
    written = rewritten(page)
    assert line in written
    assert "old" not in written.partition("<!-- end -->")[0].split()
    assert (written[:10], written[-22:]) == (page[:10], page[-22:])
    assert rewritten(written) == written


def test_every_command_has_its_help_on_the_page() -> None:
    page = (ROOT / "docs/reference/command-line.md").read_text()
    shown = re.findall(r"^<!-- written: help ?(.*?) ?-->$", page, re.MULTILINE)
    groups = {" ".join(words[:-1]) for words in map(str.split, commands())}
    missing = set(commands()) - set(shown) - (groups - {"plan"})
    assert missing == set()
    assert shown[0] == ""


def commands() -> list[str]:
    """Return every command, and every group of commands, by its words."""
    found: list[str] = []
    left: list[tuple[str, click.Group]] = [("", holdfast_command)]
    while left:
        before, group = left.pop()
        context = click.Context(group)
        for name in group.list_commands(context):
            found.append(f"{before} {name}".strip())
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                left.append((found[-1], command))
    return found


def test_every_setting_and_variable_is_on_its_page() -> None:
    sources = {path: path.read_text() for path in python_files("src")}
    variables = {name for text in sources.values() for name in VARIABLE.findall(text)}
    # Drills set what their own built-in streams need, lint reads what programs of users set, and
    # outputs are read for what other writers left in them.
    others = {"drills", "lint", "outputs"}
    users = [text for path, text in sources.items() if not others & set(path.parts)]
    settings = {name for text in users for name in SETTING.findall(text)}
    assert {name for name in variables | settings if f"`{name}`" not in SETTINGS} == set()
