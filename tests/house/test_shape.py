"""The shape of the code: sizes, names, what may stand in an `__init__`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import holdfast
from tests.house.repository import ROOT, python_files

CODE = python_files("src", "lab", "examples", "benchmarks", "campaigns", "fixtures", "docsite")
TESTS = python_files("tests")
VAGUE = {"utils", "util", "helpers", "helper", "common", "base", "core", "manager", "misc"}


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_a_module_has_at_most_300_lines(path: Path) -> None:
    assert lines_of(path) <= 300


@pytest.mark.parametrize("path", TESTS, ids=name_of)
def test_a_test_module_has_at_most_400_lines_and_a_conftest_60(path: Path) -> None:
    assert lines_of(path) <= (60 if path.name == "conftest.py" else 400)


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_a_function_has_at_most_40_lines(path: Path) -> None:
    long = [
        node.name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > 40
    ]
    assert long == []


def is_lazy_import(node: ast.stmt) -> bool:
    """The one exception: `import holdfast` must not import what it can do."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef) and node.name in {"__getattr__", "__dir__"}


@pytest.mark.parametrize("path", [p for p in CODE if p.name == "__init__.py"], ids=name_of)
def test_an_init_only_names_and_re_exports(path: Path) -> None:
    allowed = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign)
    assert lines_of(path) <= (200 if name_of(path) == "src/holdfast/__init__.py" else 30)
    for node in ast.parse(path.read_text()).body:
        if name_of(path) == "src/holdfast/__init__.py" and is_lazy_import(node):
            continue
        assert isinstance(node, allowed), ast.unparse(node)
        if isinstance(node, ast.Assign):
            assert ast.unparse(node.targets[0]) in {"__all__", "__version__", "_HOMES"}


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_no_module_has_a_name_that_says_nothing(path: Path) -> None:
    assert not VAGUE & {path.stem, *path.relative_to(ROOT).parts}


CATCHES_ALL = {
    "src/holdfast/cli/main.py": "a bug is told, with its own exit code",
    "src/holdfast/drills/checks.py": "a check that crashes has shown nothing",
    "src/holdfast/events/event.py": "a listener that raises must not harm the stream",
    "src/holdfast/named.py": "a user's module can raise anything",
    "src/holdfast/rules/catalogue.py": "a rule of another package can raise anything",
    "src/holdfast/fleet/look.py": "one hostile checkpoint must not end the scan of 10,000",
    "src/holdfast/judgement/judge.py": "a rule that fails must not end every start",
    "src/holdfast/streams/batches.py": "whatever fails, the query says which batch it was",
    "src/holdfast/streams/query_end.py": "a sink of a user can raise anything when it is closed",
    "src/holdfast/streams/pipeline.py": "the streams that run must not be forgotten",
    "src/holdfast/streams/program_run.py": "a user's program can raise anything",
    "src/holdfast/streams/recording.py": "the thread must live as long as the queries",
    "src/holdfast/sinks/database/dialect.py": "whatever fails takes the transaction back",
    "src/holdfast/sinks/database/session.py": "a driver that cannot connect can raise anything",
    "src/holdfast/sinks/files/writer.py": "whatever fails, what was staged is dropped",
    "src/holdfast/sinks/user/ledger.py": "a user's sink can raise anything",
    "src/holdfast/sinks/secrets.py": "a user's function can raise anything, with the secret in it",
}


def test_every_exception_is_caught_only_where_that_is_meant() -> None:
    catching = [
        name_of(path)
        for path in python_files("src")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
    ]
    assert sorted(catching) == sorted(CATCHES_ALL)


def test_the_public_names_are_these() -> None:
    assert sorted(holdfast.__all__) == [
        "AlreadyRunningError",
        "BatchRefusedError",
        "ConfigError",
        "Database",
        "Delta",
        "ExternalTable",
        "Files",
        "ForeachBatch",
        "HoldfastError",
        "Iceberg",
        "Kafka",
        "LeaseHeldError",
        "LeaseLostError",
        "LocationError",
        "MissingExtraError",
        "Native",
        "NoPlan",
        "Pipeline",
        "PipelineStartError",
        "Plan",
        "Postgres",
        "ReadError",
        "Rehearsal",
        "SharedCheckpointError",
        "Sink",
        "StartRefusedError",
        "TableChangedError",
        "UnsupportedSparkError",
        "WriteError",
        "__version__",
        "apply_plan",
        "audit_code",
        "backfill",
        "check",
        "continue_plan",
        "diagnose",
        "doctor",
        "guard",
        "guard_options",
        "inspect",
        "lint_code",
        "plan_backfill",
        "plan_clone",
        "plan_migrate",
        "plan_move",
        "plan_prune",
        "plan_replay",
        "plan_reset",
        "plan_restore",
        "plan_resume",
        "plan_retire",
        "plan_rewind",
        "plan_snapshot",
        "plan_undo",
        "prove_tables",
        "read_checkpoint",
        "read_plan",
        "record_queries",
        "register",
        "rehearse_plan",
        "scan_fleet",
        "spark_settings",
        "start",
        "stop_on_sigterm",
    ]


@pytest.mark.parametrize(
    "path",
    [path for path in python_files("src/holdfast/drills") if path.name != "__init__.py"],
    ids=name_of,
)
def test_what_drills_ship_is_used_by_what_is_shipped(path: Path) -> None:
    """Tools that only tests and campaigns use belong to the lab."""
    module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    shipped = [each for each in python_files("src") if each.name != "__init__.py"]
    others = [each.read_text() for each in shipped if each != path]
    names = (f"from {module} import", f'"{path.name}"')
    assert any(name in text for text in others for name in names), module
