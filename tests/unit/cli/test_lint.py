"""`holdfast lint`: what it prints, in every format, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.lint_formats import FORMATS
from holdfast.cli.main import run
from tests.house.repository import ROOT

SCHEMA = json.loads((ROOT / "docs/reference/lint.schema.json").read_text())
GUIDE = (ROOT / "docs/guides/lint.md").read_text()
JOB = """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
orders = spark.readStream.format("kafka").option("subscribe", "orders").load()


def save(batch, batch_id):
    try:
        batch.write.option("txnAppId", run).option("txnVersion", batch_id).saveAsTable("orders")
    except Exception as error:
        print(error)


query = (
    orders.writeStream
    .foreachBatch(save)
    .option("checkpointLocation", "/tmp/orders")
    .start()
)
query.awaitTermination()
"""
FINE = JOB.replace("/tmp/orders", "s3://lake/cp").replace("print(error)", "raise")

Lint = Callable[..., tuple[int, str]]


@pytest.fixture
def lint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Lint:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()

    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as exited:
            run(["lint", *arguments])
        assert isinstance(exited.value.code, int)
        return exited.value.code, capsys.readouterr().out

    return call


def test_it_prints_what_the_guide_shows(lint: Lint) -> None:
    Path("jobs/orders.py").write_text(JOB)
    code, out = lint("jobs/")
    assert code == 1
    assert f"$ holdfast lint jobs/\n{out}" in GUIDE


def test_code_without_findings_passes(lint: Lint) -> None:
    Path("jobs/orders.py").write_text(FINE)
    assert lint("jobs") == (0, "No findings in 1 files.\n")


def test_a_comment_on_the_line_ignores_its_code_only(lint: Lint) -> None:
    line = '    .option("checkpointLocation", "/tmp/orders")'
    for comment, codes in (("ignore[HF802]", ["HF813"]), ("ignore[HF801]", ["HF813", "HF802"])):
        Path("jobs/orders.py").write_text(JOB.replace(line, f"{line}  # holdfast: {comment}"))
        read = json.loads(lint("jobs", "--format", "json")[1])
        assert [each["code"] for each in read["findings"]] == codes


def test_a_baseline_hides_what_it_has_and_nothing_new(lint: Lint) -> None:
    Path("jobs/orders.py").write_text(JOB)
    assert lint("jobs", "--baseline", "known.json", "--write-baseline")[0] == 0
    Path("jobs/orders.py").write_text(f"# A line more.\n{JOB}")
    assert lint("jobs", "--baseline", "known.json")[0] == 0
    Path("jobs/orders.py").write_text(JOB.replace("/tmp/orders", "/tmp/others"))
    code, out = lint("jobs", "--baseline", "known.json")
    assert (code, out.count("HF802"), out.count("HF813")) == (1, 1, 0)


@pytest.mark.parametrize("text", ["", "{}", '{"format": "other", "version": 1}', "[1]"])
def test_another_file_is_no_baseline(lint: Lint, text: str) -> None:
    Path("known.json").write_text(text)
    assert lint("jobs", "--baseline", "known.json")[0] == 2


def test_writing_a_baseline_needs_its_name_and_paths_must_exist(lint: Lint) -> None:
    assert lint("jobs", "--write-baseline")[0] == 2
    assert lint("nowhere")[0] == 2


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (("two.py", b"print 'writeStream'"), "not Python 3: line 1"),
        (("binary.py", b"writeStream\xff\xfe"), "not text"),
        (("zero.py", b"writeStream\x00"), "not Python 3"),
        (("encoding.py", b"# coding: nothing\nwriteStream"), "not text"),
        (("nested.py", b"writeStream" + b"(" * 5000), "not Python 3"),
        (("huge.py", b"writeStream #" + b"x" * 5_000_000), "larger than"),
        (("book.ipynb", b"{writeStream"), "not a notebook: no JSON"),
        (("list.ipynb", b'["writeStream"]'), "not a notebook: it has no cells"),
        (("plain_two.py", b"print 'no stream'"), "not Python 3: line 1"),
        (("half.py", b"def save(batch:\n"), "not Python 3: line 1"),
        (("conflict.py", b"<<<<<<< HEAD\nx = 1\n"), "not Python 3: line 1"),
        (("plain_binary.py", b"x = '\xff\xfe'"), "not text"),
        (("plain_zero.py", b"x = 1\x00"), "not Python 3"),
        (("plain_huge.py", b"x = 1 #" + b"x" * 5_000_000), "larger than"),
        (("plain_book.ipynb", b"{"), "not a notebook: no JSON"),
        (("plain_list.ipynb", b"[]"), "not a notebook: it has no cells"),
        (
            ("cell.ipynb", b'{"cells": [{"cell_type": "code", "source": "print 1"}]}'),
            "not Python 3: cell 1",
        ),
    ],
)
def test_what_cannot_be_read_is_named_and_not_fine(
    lint: Lint, file: tuple[str, bytes], reason: str
) -> None:
    name, content = file
    Path("jobs", name).write_bytes(content)
    code, out = lint("jobs")
    assert code == 3
    assert f"jobs/{name}: not checked: {reason}" in out
    assert "1 could not be checked completely." in out


def test_a_notebook_is_reported_by_cell_and_magic_is_skipped(lint: Lint) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# writeStream"]},
        {"cell_type": "code", "source": ["%pip install x\n", "CP = '/tmp/cp'\n", "!ls"]},
        {"cell_type": "code", "source": "%%sql\nselect 1"},
        {"cell_type": "code", "source": "print 'broken'"},
        {
            "cell_type": "code",
            "source": "x = 1\ndf.writeStream.option('checkpointLocation', CP).toTable('t')",
        },
    ]
    Path("jobs/book.ipynb").write_text(json.dumps({"cells": cells}))
    code, out = lint("jobs")
    assert code == 1
    assert out.startswith("jobs/book.ipynb:cell 5:2:16 HF802 ")
    assert "jobs/book.ipynb: not checked: not Python 3: cell 4" in out


def test_databricks_source_format_is_a_notebook(lint: Lint) -> None:
    text = "# Databricks notebook source\n# MAGIC %md\n# COMMAND ----------\n%run ./x\n"
    text += "df.writeStream.option('checkpointLocation', 's3://a/b').toTable('t')\n"
    Path("jobs/book.py").write_text(text)
    assert lint("jobs")[0] == 0


def test_hidden_directories_and_environments_are_left_out(lint: Lint) -> None:
    for name in (".venv", "node_modules", ".git", "venv"):
        Path("jobs", name).mkdir()
        Path("jobs", name, "orders.py").write_text(JOB)
    assert lint("jobs") == (0, "No findings in 0 files.\n")


def check(value: Any, schema: dict[str, Any]) -> None:
    """Check as much of a schema as ours use."""
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
    given = schema.get("type", [])
    names = given if isinstance(given, list) else [given]
    assert not names or isinstance(value, tuple(kinds[name] for name in names))
    assert value in schema.get("enum", [value])
    assert value == schema.get("const", value)
    if isinstance(value, dict):
        properties = schema["properties"]
        assert list(value) == schema["required"] == list(properties)
        for key, each in value.items():
            check(each, properties[key])
    if isinstance(value, list):
        for each in value:
            check(each, schema["items"])


def test_the_json_is_what_its_schema_says(lint: Lint) -> None:
    Path("jobs/orders.py").write_text(JOB)
    Path("jobs/two.py").write_text("print 'writeStream'")
    read = json.loads(lint("jobs", "--format", "json")[1])
    check(read, SCHEMA)
    assert (len(read["findings"]), len(read["not_checked"])) == (2, 1)


def test_github_and_sarif_name_the_place(lint: Lint) -> None:
    Path("jobs/orders.py").write_text(JOB)
    code, out = lint("jobs", "--format", "github")
    assert code == 1
    assert out.startswith("::error file=jobs/orders.py,line=10,col=5,title=HF813 ")
    read = json.loads(lint("jobs", "--format", "sarif")[1])
    (ran,) = read["runs"]
    place = ran["results"][1]["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 17, "startColumn": 6}
    assert place["artifactLocation"] == {"uri": "jobs/orders.py"}


HOSTILE = [
    *("\x1b[2J", "\x1b]0;x\x07", "\r", "\x08", "\x00", "\x9b31m", "\u202e", "\u2028", "\u200b"),
    *("\n::error::x", "%0A::error::x", "\x7f", "\ufeff", "\x85", "\x1b(0", "\u2066", "\t", "\x0c"),
    *("\x0b", "\x1c", "\u061c", "\ue000", "\U000e0001", "\x01", "\x1f", "\u2029", "\u00ad"),
    *("\x90q", "\x1bPq", "\x1b_x"),
]


@pytest.mark.parametrize("form", list(FORMATS))
@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_hostile_text_cannot_steer_what_reads_the_output(
    lint: Lint, form: str, hostile: str
) -> None:
    path = repr(f"/tmp/{hostile}")
    Path("jobs/orders.py").write_text(JOB.replace('"/tmp/orders"', path), encoding="utf-8")
    code, out = lint("jobs", "--format", form)
    assert code == 1
    lines = out.split("\n")
    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("::error::") for line in lines)


def test_a_secret_in_a_location_is_not_shown(lint: Lint) -> None:
    secret = "file:///tmp/cp?token=AKIAsecret"
    Path("jobs/orders.py").write_text(JOB.replace("/tmp/orders", secret))
    for form in FORMATS:
        assert "AKIAsecret" not in lint("jobs", "--format", form)[1]


def test_many_files_are_checked_as_few_are(lint: Lint, tmp_path: Path) -> None:
    for number in range(201):
        text = 'df.writeStream.option("checkpointLocation", "/tmp/x").start("out")\n'
        (tmp_path / f"job_{number:03}.py").write_text(text if number % 2 else "x = 1\n")
    _, one = lint("job_001.py")
    code, out = lint(".")
    lines, each = out.splitlines(), len(one.splitlines()) - 1
    assert code == 1
    assert lines[-1] == f"{each * 100} findings in 100 of 201 files."
    names = [line.partition(":")[0].rpartition("/")[2] for line in lines[:-1]]
    assert names == sorted([f"job_{number:03}.py" for number in range(1, 201, 2)] * each)
