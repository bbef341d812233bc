"""What is decided about a finding is decided by its rule: no other module knows its code."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from holdfast.rules import RULES, Rule
from tests.house.repository import ROOT, python_files

HOMES = (
    ROOT / "src/holdfast/rules",
    ROOT / "src/holdfast/lint/rules",
    ROOT / "src/holdfast/evidence/refusal_codes.py",
)
CODE = re.compile(r"HF[0-9]{3}")


def codes_in(path: Path) -> list[str]:
    return [
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value)
    ]


def test_a_code_is_named_by_its_rule_alone() -> None:
    others = [
        path for path in python_files("src") if not any(path.is_relative_to(home) for home in HOMES)
    ]
    assert {
        str(path.relative_to(ROOT)): found for path in others if (found := codes_in(path))
    } == {}


def test_a_rule_names_no_code_but_its_own() -> None:
    for path in python_files("src/holdfast/lint/rules"):
        own = path.stem.partition("_")[0].upper()
        assert set(codes_in(path)) <= {own}, path.name
    for path in python_files("src/holdfast/rules"):
        made = [rule.code for rule in RULES if _module_of(rule) == path]
        assert sorted(codes_in(path)) == made, path.name


def _module_of(rule: Rule) -> Path:
    return ROOT / "src" / f"{rule.judge.__module__.replace('.', '/')}.py"
