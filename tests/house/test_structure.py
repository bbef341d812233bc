"""How the packages depend on each other: no cycle, one direction, private API in one place."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import grimp
import pytest

from tests.house.repository import ROOT, python_files
from tests.house.test_shape import name_of

PRIVATE = {"_jdf", "_jsq", "_jvm", "_jsparkSession", "_jsc", "_jconf", "_jwrite", "_gateway"}
OUTSIDE = [path for path in python_files("src") if "/holdfast/spark/" not in str(path)]
GRAPH = grimp.build_graph("holdfast", exclude_type_checking_imports=False)
IMPORTS = {
    module: GRAPH.find_modules_directly_imported_by(module) for module in sorted(GRAPH.modules)
}


def layers() -> dict[str, int]:
    """Return the number of each package's layer; the top one has 0."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    found = next(each["layers"] for each in config["contracts"] if each["type"] == "layers")
    return {
        package.strip(): number
        for number, layer in enumerate(found)
        for package in layer.split("|")
    }


def test_there_is_no_cycle_not_even_of_imports_for_types() -> None:
    left = {module: set(found) for module, found in IMPORTS.items()}
    while free := {module for module, found in left.items() if not found & set(left)}:
        left = {module: found for module, found in left.items() if module not in free}
    assert sorted(left) == []


def test_every_package_has_a_layer() -> None:
    there = {module for module in IMPORTS if module.count(".") == 1}
    assert sorted(set(layers()) ^ (there - {"holdfast.__main__"})) == []


def test_imports_for_types_go_one_way_too() -> None:
    numbers = layers()
    wrong = [
        f"{module} -> {each}"
        for module, found in IMPORTS.items()
        for each in found
        if (upper := numbers.get(".".join(module.split(".")[:2]))) is not None
        and (lower := numbers.get(".".join(each.split(".")[:2]))) is not None
        and (upper > lower or (upper == lower and module.split(".")[1] != each.split(".")[1]))
    ]
    assert wrong == []


@pytest.mark.parametrize("path", OUTSIDE, ids=name_of)
def test_one_package_alone_names_private_api_of_pyspark(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    named |= {str(node.value) for node in nodes if isinstance(node, ast.Constant)}
    modules = {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    assert named & PRIVATE == set()
    assert {module for module in modules if module.partition(".")[0] == "py4j"} == set()


def test_the_example_runs_without_the_lab() -> None:
    """A team copies it, and `python -m examples.sensors` runs where only the wheel is installed."""
    for path in python_files("examples"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        imported = {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
        imported |= {
            each.name for node in nodes if isinstance(node, ast.Import) for each in node.names
        }
        ours = {module.partition(".")[0] for module in imported}
        assert ours & {"lab", "campaigns", "benchmarks", "fixtures", "tests"} == set(), path
