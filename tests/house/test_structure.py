"""How the packages depend on each other: no cycle, one direction, private API in one place."""

from __future__ import annotations

import ast
import tomllib
from collections import defaultdict
from pathlib import Path

import grimp
import pytest

from tests.house.counts import SCHEME, any_annotations, files_that_branch
from tests.house.repository import ROOT, python_files
from tests.house.test_shape import name_of

SCHEMES_NAMED_IN = 8
"""May only go down."""
PRIVATE = {"_jdf", "_jsq", "_jvm", "_jsparkSession", "_jsc", "_jconf", "_jwrite", "_gateway"}
CLASSIC = "holdfast.spark.classic"
OUTSIDE = [path for path in python_files("src") if "/holdfast/spark/c" not in str(path)]
GRAPH = grimp.build_graph("holdfast", exclude_type_checking_imports=False)
IMPORTS = {
    module: GRAPH.find_modules_directly_imported_by(module) for module in sorted(GRAPH.modules)
}


def is_classic(module: str) -> bool:
    return module.startswith(CLASSIC)


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
def test_the_adapter_alone_names_private_api_of_pyspark(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    named |= {str(node.value) for node in nodes if isinstance(node, ast.Constant)}
    modules = {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {each.name for node in nodes if isinstance(node, ast.Import) for each in node.names}
    assert named & PRIVATE == set()
    assert {module for module in modules if module.partition(".")[0] == "py4j"} == set()


def test_all_else_sees_spark_through_the_port() -> None:
    """So that a second adapter, to Spark Connect, changes nothing in streams and sinks."""
    users = {
        module
        for module, found in IMPORTS.items()
        if not module.startswith("holdfast.spark")
        and any(each.startswith(CLASSIC) for each in found)
    }
    assert users == set()


def test_annotations_with_any_become_fewer() -> None:
    """Lower the number when there are fewer; never raise it."""
    assert any_annotations("src") <= 200


def test_values_are_structs() -> None:
    """Defining a dataclass takes 1.4 ms, a struct 0.04: commands define over a hundred classes.

    What is left has abstract bases, cached properties, fields that are not compared, or runs on
    executors, which need no msgspec.
    """
    sources = (path.read_text() for path in python_files("src"))
    assert sum(source.count("\n@dataclass") for source in sources) <= 64


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


def test_only_the_kinds_of_sources_ask_which_class_an_offset_has() -> None:
    """Everything else calls its methods: a new kind of source is its package and one line."""
    assert files_that_branch() == []


def test_only_events_write_the_log_of_a_stream() -> None:
    """Else a listener would not hear what the log says. `holdfast.check` is progress."""
    writing = [path for path in python_files("src") if 'getLogger("holdfast")' in path.read_text()]
    assert [path.name for path in writing] == ["event.py"]


def test_only_the_storage_knows_the_schemes() -> None:
    """Everything else asks the row: a new scheme is its module and one row."""
    naming = {name_of(path) for path in python_files("src") if SCHEME.search(path.read_text())}
    elsewhere = {name for name in naming if not name.startswith("src/holdfast/storage/")}
    assert elsewhere == {
        "src/holdfast/lint/rules/hf802_temporary_checkpoint.py",  # text in a user's program
        "src/holdfast/redact.py",  # where a URL of any scheme hides a key
        "src/holdfast/sinks/secrets.py",  # a secret in a file, which is no store
    }
    assert len(naming - elsewhere) <= SCHEMES_NAMED_IN


def test_a_word_that_had_many_meanings_has_one() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in python_files("src"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name_of(path))
    shared = {name for name, paths in homes.items() if len(paths) > 1}
    assert not shared & {"Place", "Change", "Step", "Verdict", "Position", "Journal"}
