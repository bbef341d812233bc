"""A stream into a database and the commands about it: `prove`, `plan reset`, `apply` and `undo`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from holdfast.cli.exit_codes import ExitCode
from tests import calling
from tests.spark.database_writers import Into
from tests.spark.file_stream import TIME, wait_until_given_up

pytestmark = pytest.mark.sampled(2)

MODULE = """
import holdfast as hf

lake = hf.Pipeline("lake", root="{place}/streams")

@lake.stream("readings", into=hf.Database("env:SERVING_URL", table="readings"))
def readings(spark):
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
    return lines.load("{place}/in").selectExpr("cast(value as bigint) as id", "value as name")
"""
ALLOWED = ("--allow", "repeats-data:readings", "--allow", "destructive:readings")
Call = Callable[..., str]


@pytest.fixture(params=["sqlite", "mariadb", "load"])
def into(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Into:
    server = None if request.param == "sqlite" else request.getfixturevalue("mariadb")
    made = Into.make(request.param, mariadb=server, directory=tmp_path).create()
    monkeypatch.setenv("SERVING_URL", made.url)
    return made


@pytest.fixture
def lake(into: Into, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The pipeline, with three files to read."""
    del into
    (tmp_path / "in").mkdir()
    for number in range(3):
        add(tmp_path, number)
    text = MODULE.format(place=tmp_path)
    with calling.importable(tmp_path, monkeypatch, name="lake", text=text):
        yield import_module("lake").lake


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def call_it(*arguments: str) -> str:
        code, out, err = calling.call(capsys, *arguments)
        assert code == ExitCode.DONE, (arguments, out, err)
        return out

    return call_it


def add(place: Path, number: int) -> None:
    path = place / "in" / f"f{number}"
    path.write_text(f"{number}\n")
    os.utime(path, (TIME + number, TIME + number))


def run(lake: Any, spark: SparkSession) -> None:
    (query,) = lake.start(spark, trigger={"availableNow": True}).values()
    query.awaitTermination()
    wait_until_given_up()


def rows(into: Into) -> Counter[tuple[int, str]]:
    return Counter(into.ask("SELECT id, name FROM readings"))


def first(number: int) -> Counter[tuple[int, str]]:
    return Counter((each, str(each)) for each in range(number))


def journal_of(printed: str) -> str:
    """Return the directory that `apply` names for the undo."""
    (command,) = (line for line in printed.splitlines() if "holdfast undo" in line)
    return command.partition("holdfast undo ")[2].split()[0].strip("`.")


def test_a_reset_is_applied_taken_back_and_applied_again(
    lake: Any, *, into: Into, call: Call, spark: SparkSession, tmp_path: Path
) -> None:
    root, plan = f"{tmp_path}/streams", f"{tmp_path}/plan.json"
    run(lake, spark)
    assert "exact" in call("prove", "lake:lake")
    making = ("plan", "reset", "readings", "--root", root, "--from", "earliest")
    call(*making, "--output", "truncate", "-o", plan)
    call("apply", plan, *ALLOWED)  # rehearsed: nothing changes
    assert rows(into) == first(3)
    journal = journal_of(call("apply", plan, "--execute", *ALLOWED))
    assert rows(into) == first(0)
    call("undo", journal, "--execute", *ALLOWED)
    assert rows(into) == first(3)
    add(tmp_path, 3)
    run(lake, spark)
    assert rows(into) == first(4)
    assert "exact" in call("prove", "lake:lake")
    call(*making, "--output", "truncate", "-o", f"{plan}.2")
    call("apply", f"{plan}.2", "--execute", *ALLOWED)
    assert rows(into) == first(0)
    run(lake, spark)
    assert rows(into) == first(4)
    assert "exact" in call("prove", "lake:lake")


def test_proof_finds_rows_that_were_lost_duplicated_or_changed(
    lake: Any, *, into: Into, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    run(lake, spark)
    for change in (
        "DELETE FROM readings WHERE id = 1",
        "INSERT INTO readings VALUES (1, '1'), (2, '2')",
        "DELETE FROM readings WHERE id = 2",
        "INSERT INTO readings VALUES (2, 'two')",
    ):
        into.ask(change)
        code, out, _ = calling.call(capsys, "prove", "lake:lake")
        assert code == ExitCode.FOUND, (change, out)


def test_a_reset_from_here_keeps_the_rows(
    lake: Any, *, into: Into, call: Call, spark: SparkSession, tmp_path: Path
) -> None:
    root, plan = f"{tmp_path}/streams", f"{tmp_path}/plan.json"
    run(lake, spark)
    into.ask("DELETE FROM readings WHERE id = 0")
    making = ("plan", "reset", "readings", "--root", root, "--from", "here")
    call(*making, "--output", "keep-from-here", "-o", plan)
    call("apply", plan, "--execute", *ALLOWED)
    add(tmp_path, 3)
    run(lake, spark)
    assert rows(into) == first(4) - Counter([(0, "0")])
