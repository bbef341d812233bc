"""What `import holdfast` gives: its names, its errors and their page."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from tests.house.repository import ROOT, python_files

PAGE = (ROOT / "docs/reference/errors.md").read_text()
ROWS = dict(re.findall(r"^\| `([A-Z_]+)` \| `(?:hf\.)?(\w+)` \|", PAGE, re.MULTILINE))
"""Code to class."""
EXPORTED = sorted(name for name in holdfast.__all__ if name.endswith("Error"))
ASK = "import sys, holdfast; print(sorted(set(sys.modules) & {guests!r}), 'start' in dir(holdfast))"
GUESTS = {
    "boto3",
    "botocore",
    "google_crc32c",
    "jinja2",
    "obstore",
    "psycopg",
    "pyarrow",
    "pyspark",
}


def errors_in(path: Path) -> dict[str, str]:
    """Return the classes of a module that have a code, and the code."""
    return {
        node.name: assigned.value.value
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Error")
        for assigned in node.body
        if isinstance(assigned, ast.Assign)
        and ast.unparse(assigned.targets[0]) == "code"
        and isinstance(assigned.value, ast.Constant)
        and isinstance(assigned.value.value, str)
    }


def test_completion_shows_every_public_name_before_it_is_imported() -> None:
    command = [sys.executable, "-c", ASK.format(guests=GUESTS)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert ran.stdout == "[] True\n"
    assert set(dir(holdfast)) >= set(holdfast.__all__)


@pytest.mark.parametrize("name", sorted(holdfast.__all__))
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(holdfast, name) is not None


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Postgress"):
        _ = holdfast.Postgress


@pytest.mark.parametrize("name", EXPORTED)
def test_every_exported_error_is_on_its_page_under_its_code(name: str) -> None:
    kind = getattr(holdfast, name)
    assert issubclass(kind, holdfast.HoldfastError)
    assert ROWS[kind.code] == name
    assert f"| `hf.{name}` |" in PAGE, "the page must name it as users do"


def test_every_other_error_is_on_the_page_too_and_none_that_is_gone() -> None:
    found = {"HoldfastError": "HOLDFAST"}
    for path in python_files("src"):
        found |= errors_in(path)
    assert {name: code for code, name in ROWS.items()} == found


def test_editors_are_told_the_types_of_spark() -> None:
    assert holdfast.start.__annotations__["df"] == "DataFrame"
    assert holdfast.start.__annotations__["return"] == "StreamingQuery"
    assert holdfast.Pipeline.start.__annotations__["spark"] == "SparkSession"
    assert holdfast.Pipeline.start.__annotations__["return"] == "dict[str, StreamingQuery]"
