"""A new rule is its function, its page and its cases: nothing else has to change."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.house.repository import ROOT

PAGE = """\
# HF690 several-sinks

## What it finds

The stream has more than one sink.

## What Spark does

Start.

## What to do

Nothing.

## Where this comes from

- Measured, in the repository, by `tests/spark/test_start.py`
"""
MODULE = '''\
"""How many sinks a stream has."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.stream import StreamEvidence
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, stream_rule


@stream_rule("HF690", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def several_sinks(_case: Case, evidence: StreamEvidence) -> Iterator[Finding]:
    """The stream has more than one sink."""
    if len(evidence.sinks) > 1:
        yield several_sinks.find(
            what=f"{evidence.stream} has {len(evidence.sinks)} sinks.",
            how="Read on.",
            accepting="nothing changes",
            follows_from=("contracts",),
        )
'''
CASES = """\
[[case]]
name = "two sinks"
sinks = [{ name = "one" }, { name = "two" }]
finds = [{ says = ["2 sinks"], sink = "" }]

[[case]]
name = "one sink"
finds = []
"""
FILES = {
    "src/holdfast/rules/stream/sinks.py": MODULE,
    "src/holdfast/rules/pages/HF690.md": PAGE,
    "tests/unit/rules/cases/HF690.toml": CASES,
}
COPIED = (
    *("src/holdfast", "docs", "tests/unit/rules", "tests/house"),
    *("pyproject.toml", "zensical.toml", "docsite"),
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What of this repository is about rules, copied; with a rule that is not in it."""
    ignored = shutil.ignore_patterns("__pycache__")
    for name in COPIED:
        there = tmp_path / name
        there.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, there, ignore=ignored)
        else:
            shutil.copy(ROOT / name, there)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    made = run(tmp_path, "-m", "docsite.rule_pages")
    assert made.returncode == 0, made.stderr
    return tmp_path


def run(tree: Path, *command: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python in the copied tree, with its package in front of the installed one."""
    environment = {**os.environ, "PYTHONPATH": str(path or tree / "src")}
    words = [sys.executable, *command]
    return subprocess.run(
        words, cwd=tree, env=environment, check=False, capture_output=True, text=True
    )


def run_tests(tree: Path) -> subprocess.CompletedProcess[str]:
    module = "tests/unit/rules/test_rules.py"
    return run(tree, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-k", "HF690", module)


def test_it_is_found_and_tested(tree: Path) -> None:
    ran = run_tests(tree)
    assert ran.returncode == 0, ran.stdout
    assert "test_a_case_finds_what_it_says[HF690 two sinks] PASSED" in ran.stdout
    assert (
        "test_a_page_has_the_name_of_its_rule_and_links_that_work_where_it_is[HF690] PASSED"
        in ran.stdout
    )


def test_it_is_on_the_site(tree: Path) -> None:
    built = run(tree, "-m", "zensical", "build", "--strict")
    assert built.returncode == 0, built.stderr
    index = (tree / "site/reference/rules/index.html").read_text()
    assert '<a href="../rules/HF690/">HF690</a> several-sinks</td>' in index
    assert re.search(r'href="\./HF690/"[^>]*>.*?HF690 several-sinks', index, re.DOTALL)
    assert (tree / "site/reference/rules/HF690/index.html").exists()


def test_without_its_page_and_its_cases_it_fails(tree: Path) -> None:
    (tree / "src/holdfast/rules/pages/HF690.md").unlink()
    (tree / "tests/unit/rules/cases/HF690.toml").unlink()
    ran = run_tests(tree)
    assert ran.returncode == 1
    assert (
        "test_a_page_has_the_name_of_its_rule_and_links_that_work_where_it_is[HF690] FAILED"
        in ran.stdout
    )
    assert "test_a_rule_has_a_case_that_fires_and_a_near_miss[HF690] FAILED" in ran.stdout


def test_it_is_found_in_a_zip_archive(tree: Path) -> None:
    archive = tree / "holdfast.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in sorted((tree / "src").rglob("*.*")):
            packed.write(file, file.relative_to(tree / "src"))
    asked = "import holdfast.rules as r; print(r.__file__, *(rule.code for rule in r.RULES))"
    ran = run(tree, "-c", asked, path=archive)
    assert ran.stdout.startswith(str(archive)), ran.stderr
    assert "HF690" in ran.stdout.split()
