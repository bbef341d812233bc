"""The guide to proofs is followed: the command prints what the page shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest

import holdfast as hf
from holdfast.cli.exit_codes import ExitCode
from holdfast.proof.values import ProofVerdict
from tests import calling
from tests.house.repository import ROOT
from tests.spark.file_stream import Stream, wait_until_given_up
from tests.spark.guides import as_lake
from tests.spark.unchanged import snapshot

PAGE = (ROOT / "docs/guides/prove.md").read_text()
MODULE, OWN, TABLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
CLEAN, DAMAGED = re.findall(r"```console\n\$ holdfast (.*?)\n(.*?)```", PAGE, re.DOTALL)
ONCE = {"availableNow": True}

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def home(stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of the page, with its module and some readings in it."""
    for each in (tmp_path / "in").iterdir():
        each.unlink()
    lines = (f'{{"sensor":"s{number % 3}","value":{number}.0}}' for number in range(6))
    (tmp_path / "in" / "readings.json").write_text("\n".join(lines))
    monkeypatch.setenv("LAKE_DSN", stream.dsn)
    stream.execute("CREATE TABLE gold (sensor text PRIMARY KEY, value float8)")
    with as_lake(MODULE, tmp_path, monkeypatch):
        yield tmp_path


@pytest.fixture
def call(home: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    def call_it(*arguments: str) -> tuple[int, str]:
        code, out, _ = calling.call(capsys, *arguments)
        # Widths are those of the page, whose paths are shorter.
        return code, shown(out.replace(f"{home}/", ""))

    return call_it


def shown(text: str) -> str:
    return re.sub(r"(\S) {3,}", r"\1  ", text)


def start(stream: Stream, pipeline: Any) -> None:
    for name in pipeline.streams:
        (query,) = pipeline.start(stream.spark, only=[name], trigger=ONCE).values()
        query.awaitTermination()
        wait_until_given_up()


def test_the_guide_is_followed(stream: Stream, home: Path, call: Call) -> None:
    pipeline = import_module("lake").lake
    assert {each.reason for each in pipeline.prove(stream.spark).tables} == {
        "it was never started under this root"
    }
    start(stream, pipeline)
    before = snapshot((home / "streams", home / "lake"), stream.dsn)
    command, printed = CLEAN
    assert call(*command.split()) == (ExitCode.DONE, shown(printed))
    assert snapshot((home / "streams", home / "lake"), stream.dsn) == before

    stream.spark.sql(f"DELETE FROM delta.`{home}/lake/readings` WHERE value = 4")
    command, printed = DAMAGED
    assert call(*command.split()) == (ExitCode.FOUND, shown(printed))
    advised = shlex.split(printed.partition("run: holdfast ")[2])
    code, told = call(*advised, "-o", str(home / "plan.json"))
    assert code == ExitCode.DONE, told

    with psycopg.connect(stream.dsn) as connection:
        connection.execute("INSERT INTO gold VALUES ('of another', 7)")
    code, told = call("prove", "lake:lake", "gold")
    assert code == ExitCode.DONE
    assert "1 keys that do not come from the source" in told


def test_a_table_of_ones_own(stream: Stream, home: Path) -> None:
    pipeline = import_module("lake").lake
    archive = f"{home}/lake/archive"

    def write(batch: Any, _: int) -> None:
        batch.where("value > 2").write.mode("append").parquet(archive)

    @pipeline.stream("archive", into=hf.ForeachBatch(write))  # type: ignore[untyped-decorator]
    def read_archive(spark: Any) -> Any:
        return spark.readStream.schema("sensor string, value double").json(f"{home}/in")

    start(stream, pipeline)
    given: dict[str, Any] = {"hf": hf, "lake": pipeline, "spark": stream.spark}
    own = OWN.replace('"lake/', f'"{home}/lake/')
    exec(own, given)
    assert given["proof"].exact
    stream.spark.read.parquet(archive).limit(1).write.mode("append").parquet(archive)
    exec(own, given)
    (table,) = given["proof"].tables
    assert table.verdict is ProofVerdict.NOT_EXACT
    assert table.compared.duplicated == 1
    (table,) = pipeline.prove(stream.spark, only=["archive"]).tables
    assert table.verdict is ProofVerdict.NOT_COMPARED
    rows = stream.spark.read.parquet(archive).where("sensor <> 's0'")
    given |= {"expected": rows, "found": rows}
    exec(TABLES, given)
    assert given["compared"].exact
