"""What a program says of a query: sink, output mode, trigger, checkpoint, each with its line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.lint.query_facts import WhichQuery, find_query
from holdfast.lint.query_in_code import NoQuery, QueryInCode, Written


def read(text: str, name: str | None = None, own: str = "") -> QueryInCode | NoQuery:
    which = WhichQuery(name=name, is_checkpoint=lambda place: place == own if own else None)
    return find_query("job.py", text.encode(), which)


def found(text: str, name: str | None = None, own: str = "") -> QueryInCode:
    query = read(text, name, own)
    assert isinstance(query, QueryInCode), query
    return query


@pytest.mark.parametrize(
    ("written", "sink"),
    [
        ('.format("delta").start("/lake/a")', "delta /lake/a"),
        ('.start("/lake/a", "parquet")', "parquet /lake/a"),
        ('.start(path="/lake/a", format="json")', "json /lake/a"),
        ('.toTable("lake.orders")', "table lake.orders"),
        ('.format("delta").option("path", "/b").start()', "delta /b"),
        ('.format("delta").start(f"/lake/{env}/a")', "delta /lake/{env}/a"),
        ('.start("/lake/a")', "the format of spark.sql.sources.default, /lake/a"),
        ('.format(kind).start("/lake/a")', "a format that the code computes, /lake/a"),
        (".foreachBatch(save).start()", "foreachBatch save"),
        (".foreach(Rows()).start()", "foreach Rows()"),
        (".start()", None),
    ],
)
def test_the_sink(written: str, sink: str | None) -> None:
    assert found(f"df.writeStream{written}").sink == Written(sink, "job.py:1")


def test_the_tables_of_a_batch_function_are_named() -> None:
    text = (
        "def save(df, batch):\n"
        "    df.write.format('delta').mode('append').save('/lake/a')\n"
        "    df.write.saveAsTable('b')\n"
        "df.writeStream.foreachBatch(save).start()\n"
    )
    assert found(text).sink == Written("foreachBatch save into /lake/a, b", "job.py:4")


@pytest.mark.parametrize(
    ("written", "mode"),
    [
        ('.outputMode("Complete").start("/a")', "complete"),
        ('.start("/a", "delta", "update")', "update"),
        ('.start("/a", outputMode="update")', "update"),
        ('.start("/a")', "append"),
        ('.options(**settings).start("/a")', "append"),
        ('.outputMode(mode).start("/a")', None),
        ('.apply_defaults().start("/a")', None),
    ],
)
def test_the_output_mode(written: str, mode: str | None) -> None:
    assert found(f"df.writeStream{written}").output_mode.value == mode


@pytest.mark.parametrize(
    ("written", "trigger"),
    [
        ('.trigger(processingTime="5 minutes")', "processingTime 5 minutes"),
        (".trigger(availableNow=True)", "availableNow"),
        (".trigger(once=True)", "once"),
        ('.trigger(continuous="1 second")', "continuous 1 second"),
        (".trigger(processingTime=every)", None),
        (".trigger(availableNow=flag)", None),
        (".trigger(**how)", None),
        ("", "default: a batch begins when the one before has ended"),
        (".apply_defaults()", None),
    ],
)
def test_the_trigger(written: str, trigger: str | None) -> None:
    assert found(f"df.writeStream{written}.start('/a')").trigger.value == trigger


def test_each_value_has_its_own_line() -> None:
    text = (
        "CHECKPOINT = '/srv/cp'\n"
        "w = df.writeStream.format('delta')\n"
        "w = w.outputMode('append')\n"
        "w = w.option('checkpointLocation', CHECKPOINT)\n"
        "w.start('/a')\n"
    )
    query = found(text)
    assert (query.place, query.sink.place, query.output_mode.place) == (
        *("job.py:5", "job.py:2", "job.py:3"),
    )
    assert query.checkpoint == Written("/srv/cp", "job.py:4")


def test_a_line_of_a_notebook_has_its_cell() -> None:
    cells = [
        {"cell_type": "code", "source": "x = 1\n"},
        {"cell_type": "code", "source": "y = 2\ndf.writeStream.start('/a')\n"},
    ]
    which = WhichQuery()
    query = find_query("job.ipynb", json.dumps({"cells": cells}).encode(), which)
    assert isinstance(query, QueryInCode)
    assert query.place == "job.ipynb:cell 2:2"


TWO = (
    "def orders():\n"
    "    df.writeStream.option('checkpointLocation', '/cp/o').start('/o')\n"
    "def clicks():\n"
    "    df.writeStream.option('checkpointLocation', '/cp/c').queryName('c').start('/c')\n"
)


@pytest.mark.parametrize(("name", "line"), [("orders", 2), ("clicks", 4), ("c", 4), ("2", 2)])
def test_a_query_is_chosen_by_its_name_or_its_function(name: str, line: int) -> None:
    assert found(TWO, name).place == f"job.py:{line}"


def test_a_query_is_chosen_by_its_checkpoint() -> None:
    assert found(TWO, own="/cp/c").place == "job.py:4"


def test_several_queries_are_never_guessed_among() -> None:
    query = read(TWO)
    assert query == NoQuery(
        "job.py does not tell which query it is. It starts orders (line 2), c (line 4): "
        "give FILE:NAME or FILE:LINE"
    )
    missing = read(TWO, "nobody")
    assert isinstance(missing, NoQuery)
    assert missing.why.startswith("job.py starts no query 'nobody'. It starts orders")


def test_another_checkpoint_is_taken_only_by_name() -> None:
    text = "df.writeStream.option('checkpointLocation', '/cp/o').queryName('o').start('/o')"
    refused = read(text, own="/cp/c")
    assert isinstance(refused, NoQuery)
    assert "its checkpoint is /cp/o (job.py:1)" in refused.why
    assert refused.why.endswith("To read it anyway: FILE:NAME, or FILE:1 by its line")
    assert found(text, "o", own="/cp/c").is_other
    assert found(text, "1", own="/cp/c").is_other


def test_a_very_long_value_is_cut() -> None:
    sink = found(f"df.writeStream.format('delta').start('/{'a' * 9_000}')").sink
    assert sink.value is not None
    assert len(sink.value) < 250


@pytest.mark.parametrize(
    "raw",
    [b"\xff", b"\x00", b"(" * 10_000, b"x=" + b"-" * 5_000 + b"1", b"def f(:", b"a" * 6_000_000],
)
def test_what_cannot_be_parsed_is_said(raw: bytes) -> None:
    assert isinstance(find_query("job.py", raw, WhichQuery()), NoQuery)


@given(st.binary(max_size=200), st.booleans())
def test_no_content_raises(raw: bytes, is_notebook: bool) -> None:
    path = "job.ipynb" if is_notebook else "job.py"
    text = b"df.writeStream.start(" + raw + b")"
    for each in (raw, text):
        assert isinstance(find_query(path, each, WhichQuery()), QueryInCode | NoQuery)
