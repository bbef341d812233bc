"""Whether a sink recognises a repeated batch, and what a restart after a kill does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.audit.model import AuditedQuery
from holdfast.audit.programs import FileAudit, audit_file
from holdfast.grades import Confidence, Effect, Recognises

KAFKA = "df = spark.readStream.format('kafka').option('subscribe', 'a').load()\n"
FILES = "df = spark.readStream.format('json').load('/in')\n"
CHECKPOINT = ".option('checkpointLocation', '/srv/cp')"
NONE, LOSES, REPEATS, FAILS = Effect.NONE, Effect.LOSES, Effect.REPEATS, Effect.FAILS


def audit(text: str) -> AuditedQuery:
    (query,) = audit_file("job.py", text.encode()).queries
    return query


@pytest.mark.parametrize(
    ("written", "recognises", "effects"),
    [
        (".format('delta').start('/a')", "yes", [NONE]),
        (".format('parquet').start('/a')", "yes", [NONE]),
        (".format('iceberg').toTable('a')", "yes", [NONE]),
        (".toTable('a')", "depends", [NONE]),
        (".start('/a')", "depends", [NONE]),
        (".format('kafka').option('topic', 'a').start()", "no", [REPEATS]),
        (".format('bigquery').start('a')", "no", [REPEATS]),
        (".format('org.apache.spark.sql.cassandra').start()", "depends", [NONE]),
        (".format('mongodb').start()", "depends", [NONE]),
        (".format('console').start()", "not-kept", [NONE]),
        (".format('noop').start()", "not-kept", [NONE]),
        (".format('jdbc').start()", "not-known", [FAILS]),
        (".format('com.example.sink').start()", "not-known", []),
        (".format(kind).start('/a')", "not-known", []),
        (".foreachBatch(imported).start()", "not-known", []),
        (".foreachBatch(lambda rows, n: rows.show()).start()", "not-kept", [NONE]),
        (".foreach(print).start()", "not-known", []),
    ],
)
def test_sinks_of_a_query(written: str, recognises: str, effects: list[Effect]) -> None:
    query = audit(f"{KAFKA}df.writeStream{CHECKPOINT}{written}")
    assert (query.recognises.value, [*query.effects]) == (recognises, effects)
    assert query.why
    assert query.why_place == "job.py:2"


@pytest.mark.parametrize(
    ("body", "recognises", "effects"),
    [
        ("rows.write.jdbc(u, 't', mode='append')", "no", [REPEATS]),
        ("rows.write.format('kafka').mode('append').save()", "no", [REPEATS]),
        ("rows.write.format('delta').mode('append').options(**o).save('/a')", "not-known", []),
        ("rows.write.format('jdbc').mode('append').options(**o).save()", "no", [REPEATS]),
        ("rows.write.format('delta').mode(how).save('/a')", "not-known", []),
        ("rows.write.format(kind).mode('append').save('/a')", "not-known", []),
        ("rows.write.format('com.example').mode('append').save()", "not-known", []),
        ("rows.write.format('es').mode('append').save()", "depends", [NONE]),
        ("rows.write.saveAsTable('a')", "no", [FAILS]),
        ("rows.write.mode('ignore').parquet('/a')", "no", [LOSES]),
        ("rows.write.mode('overwrite').parquet('/a')", "yes", [NONE]),
        ("rows.write.mode('overwrite').parquet(f'/a/{n}')", "yes", [NONE]),
        ("spark.conf.set('spark.databricks.delta.write.txnAppId', 'a');"
         "spark.conf.set('spark.databricks.delta.write.txnVersion', n);"
         "rows.write.format('delta').mode('append').save('/a')", "yes", [NONE]),
        ("t.alias('t').merge(rows.alias('s'), 't.id = s.id').execute()", "depends", [NONE]),
        ("send(rows)", "not-known", []),
        ("rows.write.mode('overwrite').parquet(f'/a/{n}'); send(rows)", "not-known", []),
        ("collection.insert_many(rows.collect())", "no", [REPEATS]),
        ("pass", "not-kept", [NONE]),
    ],
)  # fmt: skip
def test_functions_of_foreach_batch(body: str, recognises: str, effects: list[Effect]) -> None:
    text = f"{KAFKA}def save(rows, n):\n    {body}\ndf.writeStream{CHECKPOINT}.foreachBatch(save)"
    query = audit(f"{text}.start()")
    assert (query.recognises.value, [*query.effects]) == (recognises, effects)


APPENDS = "lambda rows, n: rows.write.jdbc(u, 't', mode='append')"
MERGES = "lambda rows, n: spark.sql('merge into t using s on t.id = s.id')"


@pytest.mark.parametrize(
    ("source", "written", "effects"),
    [
        (KAFKA, ".format('delta').start('/a')", [FAILS]),
        (KAFKA, f".foreachBatch({APPENDS}).start()", [LOSES]),
        (FILES, f".foreachBatch({APPENDS}).start()", [REPEATS]),
        (FILES, f".foreachBatch({MERGES}).start()", [NONE]),
        (FILES, ".foreachBatch(imported).start()", []),
        (KAFKA, ".foreachBatch(imported).start()", [LOSES]),
        ("", f".foreachBatch({APPENDS}).start()", [LOSES, REPEATS]),
        (FILES, ".format('delta').option('checkpointLocation', '/tmp/a').start('/a')", [REPEATS]),
        (FILES, ".format('csv').option('checkpointLocation', '/tmp/a').start('/a')", [LOSES]),
        (
            KAFKA.replace(".load", ".option('startingOffsets', 'earliest').load"),
            ".format('delta').option('checkpointLocation', f'/cp/{uuid.uuid4()}').start('/a')",
            [REPEATS],
        ),
        (
            KAFKA,
            f".foreachBatch({APPENDS}).option('checkpointLocation', '/tmp/a').start()",
            [LOSES, REPEATS],
        ),
    ],
)
def test_a_start_without_the_checkpoint_before(
    source: str, written: str, effects: list[Effect]
) -> None:
    query = audit(f"{source}df.writeStream{written}")
    assert [*query.effects] == effects
    assert "Set checkpointLocation to a fixed path that outlives the driver." in query.changes


def test_options_that_cannot_be_followed_make_it_likely_at_most() -> None:
    query = audit(f"{KAFKA}df.writeStream.format('delta').options(**given).start('/a')")
    assert (query.effects, query.confidence) == ((NONE,), Confidence.LIKELY)
    assert query.after_kill.endswith("if the options of the query give a fixed checkpointLocation.")


GUARDED = """\
import holdfast as hf
from holdfast import start
lake = hf.Pipeline("lake", root="/srv")
@lake.stream("orders", into=hf.Delta(path="/a"))
def orders(spark):
    return spark.readStream.format("delta").load("/in")
start(df, stream="b", into=hf.Postgres("dsn", table="b"), outputMode="update")
hf.guard(df.writeStream.trigger(once=True), stream="c", into=hf.ForeachBatch(save)).start()
"""


def test_queries_that_holdfast_starts() -> None:
    found = audit_file("job.py", GUARDED.encode())
    assert [(each.name, each.line, each.recognises.value) for each in found.queries] == [
        ("orders", 4, "yes"),
        ("b", 7, "yes"),
        ("c", 8, "depends"),
    ]
    assert all(each.is_guarded and each.is_safe for each in found.queries)
    assert found.not_understood == ()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("w = df.writeStream.format('delta')\nw.save('/a')", "No start() of this writeStream"),
        ("import dlt\n@dlt.table\ndef a():\n    return spark.readStream.table('b')", "a pipeline"),
        ("# MAGIC create streaming table a\nspark.readStream.load()", "declared in SQL"),
        ("df.writeStream.start(", "not Python 3"),
    ],
)
def test_what_was_not_followed_is_said(text: str, why: str) -> None:
    found = audit_file("job.py", text.encode())
    assert any(why in each.why for each in found.not_understood), found
    assert found.queries == ()


def test_a_notebook() -> None:
    run = "%run ./setup\n"
    query = f"df.writeStream{CHECKPOINT}.foreachBatch(imported).start()\n"
    sql = ["%%sql\n", "create streaming table a as select 1\n"]
    cells = [{"cell_type": "code", "source": each} for each in ([run], [query], sql)]
    found = audit_file("nb.ipynb", json.dumps({"cells": cells}, indent=1).encode())
    assert [each.place for each in found.queries] == ["nb.ipynb:cell 2:1"]
    whys = sorted(each.why for each in found.not_understood)
    assert whys == [
        "%run ./setup is not followed: names from there are not known here.",
        "A streaming table is declared in SQL.",
    ]


def test_a_notebook_in_the_source_format_of_databricks() -> None:
    text = (
        "# Databricks notebook source\n# MAGIC %run ./setup\n# COMMAND ----------\n"
        f"df.writeStream{CHECKPOINT}.foreachBatch(imported).start()\n"
    )
    found = audit_file("nb.py", text.encode())
    assert [each.place for each in found.queries] == ["nb.py:4"]
    assert [each.place for each in found.not_understood] == ["nb.py:2"]


def test_each_variant_of_a_helper_is_a_query() -> None:
    text = (
        "def run(df, name):\n"
        "    df.writeStream.option('checkpointLocation', f'/cp/{name}').start(f'/{name}')\n"
        "run(df, 'a')\n"
        "run(df, 'b')\n"
    )
    found = audit_file("job.py", text.encode()).queries
    assert [(each.line, each.checkpoint.value) for each in found] == [(3, "/cp/a"), (4, "/cp/b")]


@given(st.binary(max_size=200), st.booleans())
def test_no_content_raises(raw: bytes, is_notebook: bool) -> None:
    path = "job.ipynb" if is_notebook else "job.py"
    for each in (raw, b"import holdfast as hf\ndf.writeStream.start(" + raw + b")"):
        assert isinstance(audit_file(path, each), FileAudit)


def test_yes_is_never_said_without_a_reason() -> None:
    assert {each.value for each in Recognises} == {
        *("yes", "no", "depends", "not-kept", "not-known"),
    }
