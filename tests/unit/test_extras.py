"""An optional dependency that is not installed ends in the name of its extra, never as a bug."""

from __future__ import annotations

import ast
import pickle
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import VERBS, holdfast
from holdfast.errors import (
    EXTRAS,
    ConfigError,
    MissingExtraError,
    missing_extra,
    without_our_frames,
)
from holdfast.named import load_named
from holdfast.sinks.postgres.task import RAISED, Task
from tests import calling
from tests.house.repository import ROOT, python_files

DECLARED: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
    "optional-dependencies"
]
REQUIRED = {"click", "google_crc32c", "jinja2", "msgspec", "obstore", "xxhash"}
WITH_ANOTHER = {
    "anyio": "mcp",
    "numpy": "pyarrow",
    "pandas": "pyspark",
    "py4j": "pyspark",
    "pytest": "pytest",
}
"""Modules that come with another one, and what is only imported as a plug-in of pytest."""


def is_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported(path: Path) -> set[str]:
    """The other packages that a module imports when it runs, lazily or not."""
    found: set[str] = set()
    nodes: list[ast.AST] = [ast.parse(path.read_text())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.stmt) and is_for_types(node):
            continue
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
        nodes += ast.iter_child_nodes(node)
    return found - sys.stdlib_module_names - {"holdfast", "__future__"}


USES = sorted(
    (str(path.relative_to(ROOT)), module)
    for path in python_files("src")
    for module in imported(path) - REQUIRED
)
"""Every module of Holdfast that imports an optional dependency, with what it imports."""


def test_there_are_imports_to_check() -> None:
    assert {module for _, module in USES} >= {"pyspark", "pyarrow", "psycopg", "confluent_kafka"}


@pytest.mark.parametrize(("path", "module"), USES)
def test_every_optional_import_has_an_extra(path: str, module: str) -> None:
    brought = WITH_ANOTHER.get(module, module)
    assert brought in EXTRAS or brought == "pytest", f"{path} imports {module}: name its extra"


@pytest.mark.parametrize(("module", "extra"), EXTRAS.items())
def test_the_extra_brings_the_module(module: str, extra: str) -> None:
    named = {"botocore": "boto3", "pytds": "python-tds"}
    package = named.get(module, module).replace("_", "-")
    assert any(each.startswith(package) for each in DECLARED[extra])


@pytest.mark.parametrize("module", EXTRAS)
@pytest.mark.parametrize("form", [(), ("--format", "json")])
def test_a_verb_that_misses_a_module_names_its_extra(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    module: str,
    form: tuple[str, ...],
) -> None:
    def fail(**_: object) -> None:
        raise ModuleNotFoundError(f"No module named {module!r}", name=f"{module}.sql")

    option = click.Option(["--format"])
    monkeypatch.setitem(holdfast.commands, "try", click.Command("try", None, fail, [option]))
    code, out, err = calling.call(capsys, "try", *form)
    assert code == ExitCode.USAGE
    assert err.startswith("MISSING_EXTRA\n")
    assert f"pip install 'holdfast-spark[{EXTRAS[module]}]'" in err
    assert "Traceback" not in err
    assert ('"MISSING_EXTRA"' in out) == bool(form)
    assert "try" not in VERBS


def test_a_module_of_somebody_else_stays_a_bug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise ModuleNotFoundError("No module named 'typo'", name="typo")

    monkeypatch.setitem(holdfast.commands, "try", click.Command("try", None, fail))
    code, _, err = calling.call(capsys, "try")
    assert code == ExitCode.BUG
    assert "This is a bug in Holdfast" in err


def test_a_module_that_is_there_and_lacks_a_name_is_not_missing() -> None:
    assert missing_extra(ImportError("cannot import name 'x'", name="pyspark")) is None


def test_the_modules_of_postgresql_name_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "holdfast.sinks.postgres.encode", raising=False)
    with pytest.raises(ModuleNotFoundError) as raised:
        __import__("holdfast.sinks.postgres.encode")
    found = missing_extra(raised.value)
    assert found is not None
    assert (found.module, found.extra) == ("pyarrow", "postgres")


def test_a_call_from_python_names_the_extra_too() -> None:
    @without_our_frames
    def start() -> None:
        raise ModuleNotFoundError("No module named 'psycopg'", name="psycopg")

    with pytest.raises(MissingExtraError) as raised:
        start()
    assert raised.value.extra == "postgres"


def test_an_executor_without_the_driver_of_postgresql_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    nothing: Any = None
    task = Task(dsn=nothing, target=nothing, attempt=nothing)
    (answer,) = task([])
    (said,) = answer.to_pydict()["said"]
    assert said.startswith(RAISED)
    error = pickle.loads(bytes.fromhex(said.removeprefix(RAISED)))
    assert isinstance(error, MissingExtraError)
    assert (error.module, error.extra) == ("psycopg", "postgres")


def test_a_pipeline_that_imports_what_is_missing_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    (tmp_path / "wants_spark.py").write_text("import pyspark.sql\nlake = 1\n")
    with pytest.raises(MissingExtraError) as raised:
        load_named(f"{tmp_path}/wants_spark.py:lake")
    assert raised.value.extra == "spark"
    (tmp_path / "wants_other.py").write_text("import no_such_module\n")
    with pytest.raises(ConfigError):
        load_named(f"{tmp_path}/wants_other.py:lake")
