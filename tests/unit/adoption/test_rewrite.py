"""A chain of `writeStream` becomes a call of `hf.start`; what is too dynamic names its line."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path

import pytest

from holdfast.audit.programs import audit_file
from tests.house.repository import ROOT
from tests.unit.adoption.changing import apply, change

CHAIN = '''\
"""A job."""

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
BASE = "/srv"
df = spark.readStream.format("kafka").load()
query = (
    df.select("value")
    .writeStream.format("delta")
    .queryName("orders")
    .outputMode("update")  # as before
    .option("checkpointLocation", f"{BASE}/cp/orders")
    .trigger(processingTime="1 minute")
    .start(f"{BASE}/lake/orders")
)
query.awaitTermination()
'''
CHANGED = '''\
"""A job."""

from pyspark.sql import SparkSession

import holdfast as hf

spark = SparkSession.builder.getOrCreate()
BASE = "/srv"
df = spark.readStream.format("kafka").load()
query = hf.start(
    df.select("value"),
    stream="orders",
    root="/srv/cp",
    into=hf.Delta(path=f"{BASE}/lake/orders"),
    checkpoint=f"{BASE}/cp/orders",
    trigger={"processingTime": "1 minute"},
    outputMode="update",
)
query.awaitTermination()
'''
START = 'df.writeStream.format("delta").option("checkpointLocation", "/srv/cp").start("/lake/t")'
CALL = 'stream="orders", root="/srv/cp", into=hf.Delta(path="/lake/t"), checkpoint="/srv/cp"'
AROUND = {
    "alone": "{}\n",
    "assigned": "query = {}\n",
    "annotated": "query: object = {}\n",
    "assigned to an attribute": "def f(self, df):\n    self.query = {}\n",
    "in parentheses": "({})\n",
    "assigned in parentheses": "query = ({})\n",
    "returned": "def f(df):\n    return {}\n",
    "returned in parentheses": "def f(df):\n    return (\n        {}\n    )\n",
    "awaited": "{}.awaitTermination()\n",
    "awaited in parentheses": "({}\n).awaitTermination()\n",
    "an argument": "queries.append({})\n",
    "an element": "queries = [{}, other]\n",
    "after other letters": 'x = "größe"; query = {}\n',
    "with tabs": "def f(df):\n\tquery = {}\n",
    "two targets": "first = second = {}\n",
    "over two lines": "query = \\\n    {}\n",
}


def test_a_chain_becomes_a_call(tmp_path: Path) -> None:
    found = change(CHAIN)
    assert found.by_hand is None
    assert apply(tmp_path, CHAIN, found.diff or "") == CHANGED
    assert found.notes == ("job.py:11: .queryName: the query gets the stream's name.",)
    assert found.place == "job.py:15"


@pytest.mark.parametrize("around", AROUND)
def test_whatever_is_around_it_stays(around: str, tmp_path: Path) -> None:
    text = AROUND[around].format(START)
    found = change(text)
    changed = apply(tmp_path, text, found.diff or "")
    wanted = "import holdfast as hf\n" + AROUND[around].format(f"hf.start(df, {CALL})")
    assert ast.dump(ast.parse(changed)) == ast.dump(ast.parse(wanted))
    assert "writeStream" not in changed


def test_a_module_that_is_imported_keeps_its_name(tmp_path: Path) -> None:
    text = f"import holdfast\n\n{START}\n"
    changed = apply(tmp_path, text, change(text).diff or "")
    assert changed.count("import") == 1
    assert "holdfast.start(\n" in changed
    assert "into=holdfast.Delta(" in changed


def test_a_table_of_a_catalog_is_named(tmp_path: Path) -> None:
    text = START.replace(".start(", ".toTable(").replace("/lake/t", "lake.t") + "\n"
    assert 'into=hf.Delta(table="lake.t"),' in apply(tmp_path, text, change(text).diff or "")


def test_what_the_call_does_not_take_is_named() -> None:
    text = START.replace(
        ".start(", '.partitionBy("day").option("mergeSchema", "true").option("x", "y").start('
    )
    assert change(text).notes == (
        "job.py:1: .partitionBy: the table exists, and keeps its partitions.",
        "job.py:1: option mergeschema: set spark.databricks.delta.schema.autoMerge.enabled to true "
        "in the session.",
        "job.py:1: option x: hf.start takes no options of a sink; check that none needs it.",
    )


DYNAMIC = {
    "the writer is a variable": (
        'writer = df.writeStream.format("delta")\nwriter.option("checkpointLocation", "/c")'
        '.start("/t")\n',
        "job.py:1: .writeStream is set here, and the query is started in line 2",
    ),
    "the options are computed": (
        'df.writeStream.format("delta")\\\n    .options(**settings())\\\n    .start("/t")\n',
        "job.py:2: the code computes the options of .options",
    ),
    "the options are elsewhere": (
        'given = {"checkpointLocation": "/c"}\n'
        'df.writeStream.format("delta").options(**given).start("/t")\n',
        "job.py:1: an option of the chain is set here, in a dictionary",
    ),
    "a step is not known": (
        'df.writeStream.format("delta")\\\n    .transform(more)\\\n    .start("/t")\n',
        "job.py:2: what .transform does with the writer is not known",
    ),
    "a helper starts several": (
        "def run(df, at):\n"
        '    df.writeStream.format("delta").option("checkpointLocation", f"/c/{at}").start(at)\n'
        'run(a, "/t")\nrun(b, "/u")\n',
        "job.py:2: this line starts 2 queries, and each needs a stream's name of its own",
    ),
}


@pytest.mark.parametrize("case", DYNAMIC)
def test_what_is_too_dynamic_names_the_line_and_the_call(case: str) -> None:
    text, why = DYNAMIC[case]
    found = change(text, checkpoint="/c//t" if "helper" in case else None)
    assert found.diff is None
    assert found.by_hand == why
    assert found.call.startswith("hf.start(\n    ")
    assert 'stream="orders"' in found.call


def test_a_helper_that_starts_one_query_is_changed_where_it_stands(tmp_path: Path) -> None:
    text = (
        "def run(df, at):\n"
        '    df.writeStream.format("delta").option("checkpointLocation", f"/c/{at}").start(at)\n'
        'run(a, "/t")\n'
    )
    changed = apply(tmp_path, text, change(text).diff or "")
    assert "into=hf.Delta(path=at)," in changed
    assert 'checkpoint="/srv/cp/orders",' in changed


def samples() -> list[Path]:
    """The files that people paste which start one query."""
    found = sorted((ROOT / "tests/unit/lint/samples").rglob("*.py"))
    programs = {each: audit_file(each.name, each.read_bytes()).queries for each in found}
    return [each for each, queries in programs.items() if len(queries) == 1]


def test_samples_are_guarded_by_the_change_and_nothing_else_is_changed(tmp_path: Path) -> None:
    made = 0
    for number, path in enumerate(samples()):
        text = path.read_text()
        found = change(text)
        if found.diff is None:
            assert found.by_hand is not None
            continue
        made += 1
        changed = apply(tmp_path / f"{number}", text, found.diff)
        (query,) = audit_file("job.py", changed.encode()).queries
        assert (query.is_guarded, query.name) == (True, "orders")
        before, after = (Counter(each.splitlines()) for each in (text, changed))
        lost = "\n".join((before - after).elements())
        assert "writeStream" in lost
        assert all(word not in lost for word in ("import ", "def ", "class ", "readStream"))
    assert made >= 30


UNWRITABLE = {
    "lines of Windows": START.encode() + b"\r\nx = 1\r\n",
    "another encoding": b"# -*- coding: latin-1 -*-\n# \xe9\n" + START.encode() + b"\n",
    "a byte order mark": b"\xef\xbb\xbf" + START.encode() + b"\n",
    "a form feed": b"x = 1\n\x0c\n" + START.encode() + b"\n",
    "a secret near it": b'password = "hunter2"\n' + START.encode() + b"\n",
    "a hidden character near it": "# a\u202eb\n".encode() + START.encode() + b"\n",
}


@pytest.mark.parametrize("case", UNWRITABLE)
def test_a_diff_that_could_not_be_applied_or_shown_is_not_made(case: str) -> None:
    found = change(UNWRITABLE[case])
    assert found.diff is None
    assert found.by_hand is not None
    assert "hunter2" not in str(found)


def test_a_notebook_is_changed_by_hand() -> None:
    cells = [{"cell_type": "code", "source": [each]} for each in ("x = 1", START)]
    found = change(json.dumps({"cells": cells}), path="job.ipynb")
    assert (found.diff, found.by_hand) == (None, "job.ipynb:cell 2:1: it is a cell of a notebook")
