"""The guide to pipelines: declared, drawn by the command, started; sinks that come and go."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

import holdfast as hf
from holdfast.cli.exit_codes import ExitCode
from holdfast.version import __version__
from tests import calling
from tests.house.repository import ROOT
from tests.spark.file_stream import Stream, wait_until_given_up
from tests.spark.guides import as_lake

PAGE = (ROOT / "docs/guides/pipelines.md").read_text()
SCHEMA = json.loads((ROOT / "docs/reference/pipeline.schema.json").read_text())
MODULE, PROGRAM = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
((COMMAND, DRAWN),) = re.findall(r"```console\n\$ holdfast (.*?)\n(.*?)```", PAGE, re.DOTALL)
(TOLD,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def home(stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of the page, with its module in it."""
    monkeypatch.setenv("LAKE_DSN", stream.dsn)
    stream.execute("CREATE TABLE gold (value text)")
    with as_lake(MODULE, tmp_path, monkeypatch):
        yield tmp_path


@pytest.fixture
def call(home: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Call the command, and show the paths of the page."""

    def call_it(*arguments: str) -> tuple[int, str]:
        code, out, _ = calling.call(capsys, *arguments)
        return code, out.replace(str(home), "/srv")

    return call_it


def test_the_command_draws_what_the_page_shows(call: Call) -> None:
    assert call(*COMMAND.split()) == (ExitCode.DONE, DRAWN)
    code, printed = call(*COMMAND.split(), "--format", "json")
    shown = printed.replace(__version__, "1.0.0")
    assert (code, shown) == (ExitCode.DONE, TOLD)
    told = json.loads(printed)
    assert list(told) == SCHEMA["required"] == list(SCHEMA["properties"])
    of_streams = SCHEMA["properties"]["streams"]["items"]
    for each in told["streams"]:
        assert list(each) == of_streams["required"] == list(of_streams["properties"])


def test_drawing_leaves_no_connection_open(stream: Stream, call: Call) -> None:
    assert call(*COMMAND.split())[0] == ExitCode.DONE
    with psycopg.connect(stream.dsn) as connection:
        found = connection.execute(
            "SELECT application_name FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchall()
    assert found == []


@pytest.mark.parametrize("named", ["nowhere:lake", "lake:nothing", "lake:hf", "lake"])
def test_what_is_no_pipeline_is_refused_by_name(call: Call, named: str) -> None:
    assert call("pipeline", "show", named) == (ExitCode.USAGE, "")


def test_the_guide_is_followed(stream: Stream, home: Path) -> None:
    for _ in range(2):  # the second start reads what the first has brought
        exec(compile(PROGRAM, "pipelines.md", "exec"), {})
        wait_until_given_up()
    expected = Counter(f"ROW {number}" for number in range(3))
    gold = stream.spark.read.format("delta").load(str(home / "lake/gold")).collect()
    assert Counter(row.value for row in gold) == expected
    stream.execute("DELETE FROM readings")
    stream.execute("INSERT INTO readings SELECT value FROM gold")
    assert Counter(stream.rows()) == expected


def test_a_sink_that_comes_back_and_one_in_place_of_all_are_refused(
    stream: Stream, tmp_path: Path
) -> None:
    delta = hf.Delta(path=str(tmp_path / "table"))
    stream.run(into=[delta, stream.sink()])
    stream.add(3)
    stream.run(into=delta)
    stream.execute("CREATE TABLE others (value text)")
    others = hf.Postgres(lambda: stream.dsn, table="others")
    renamed = stream.sink(name="new")  # a label is no other table
    for sinks, code in (
        ([delta, stream.sink()], "HF603"),
        ([delta, renamed], "HF603"),
        ([others], "HF601"),
    ):
        with pytest.raises(hf.StartRefusedError) as refused:
            stream.run(into=sinks)
        assert [finding.code for finding in refused.value.findings] == [code]
