"""Which sink of Holdfast takes the rows of a query, and where only a function is left."""

from __future__ import annotations

import pytest

from holdfast.adoption.into_sink import IntoSink, NamedTable, NoSink
from tests.unit.adoption.changing import sink_of

PROGRAM = """\
URL = "jdbc:postgresql://db:5433/shop?user=etl&password=hunter2"
df = spark.readStream.format("kafka").load()
{function}
df.writeStream.foreachBatch({name}).option("checkpointLocation", "/c").start()
"""
BODY = """\
def save(batch, batch_id):
    '''Append a batch.'''
    print("batch", batch_id)
    {}
"""
DELTA = 'batch.write.format("delta").mode("append")'
PLAIN = {
    'batch.write.jdbc(URL, "orders", mode="append")': (
        'hf.Postgres("env:ORDERS_DSN", table="orders")'
    ),
    'batch.write.mode("append").jdbc(url=URL, table="s.orders")': (
        'hf.Postgres("env:ORDERS_DSN", table="s.orders")'
    ),
    'batch.write.format("jdbc").option("url", URL).option("dbtable", "o").mode("append").save()': (
        'hf.Postgres("env:O_DSN", table="o")'
    ),
    f'{DELTA}.save("/lake/t")': 'hf.Delta(path="/lake/t")',
    f'{DELTA}.option("path", "/lake/t").save()': 'hf.Delta(path="/lake/t")',
    f'{DELTA}.option("txnAppId", "a").option("txnVersion", batch_id).save("/lake/t")': (
        'hf.Delta(path="/lake/t")'
    ),
    f'{DELTA}.saveAsTable("lake.t")': 'hf.Delta(table="lake.t")',
    'batch.writeTo("lake.t").append()': 'hf.Delta(table="lake.t")',
}
MORE = {
    'batch.select("a").write.jdbc(URL, "orders", mode="append")': "something else than the batch",
    'batch.write.jdbc(URL, "orders", mode="overwrite")': "writes with mode overwrite",
    'batch.write.jdbc(URL, "orders")': "writes with mode error",
    'batch.write.jdbc(secret(), "orders", mode="append")': "--sink env:NAME#TABLE",
    'batch.write.jdbc("jdbc:mysql://db/shop", "orders", mode="append")': "PostgreSQL",
    'batch.write.jdbc(URL, named(), mode="append")': "computes the name of its table",
    'batch.write.parquet("/out", mode="append")': "it writes parquet",
    f"{DELTA}.save(place())": "computes where it writes to",
    f'{DELTA}.options(**more()).save("/lake/t")': "options that cannot be followed",
    f'{DELTA}.save("/lake/t"); notify(batch)': "does more than to write",
    f'{DELTA}.save("/lake/t"); {DELTA}.save("/lake/u")': "it has 2 writes",
    "send(batch)": "its write is not understood",
}
FORMATS = {
    'format("parquet")': (True, "Holdfast has no sink for parquet files"),
    'format("kafka")': (True, "Holdfast has no sink for kafka"),
    'format("iceberg")': (True, "Holdfast has no sink for iceberg"),
    'format("console")': (True, "the console sink keeps no rows"),
    "format(kind())": (False, "the code computes the format of its sink"),
    "foreach(send)": (True, "foreach writes row by row, and Holdfast guards whole batches"),
}


def with_function(body: str) -> str:
    return PROGRAM.format(function=BODY.format(body), name="save")


@pytest.mark.parametrize("body", PLAIN)
def test_a_function_that_only_appends_becomes_a_sink(body: str) -> None:
    found = sink_of(with_function(body))
    assert isinstance(found, IntoSink)
    assert found.written("hf") == PLAIN[body]
    assert found.notes[0] == "save is not called any more: Holdfast writes the batch."
    assert "hunter2" not in str(found)


@pytest.mark.parametrize("body", MORE)
def test_a_function_that_does_more_stays_one(body: str) -> None:
    found = sink_of(with_function(body))
    assert isinstance(found, IntoSink)
    assert found.written("hf") == "hf.ForeachBatch(save)"
    assert MORE[body] in found.notes[0]
    assert "exactly-once is not claimed for it" in found.notes[0]


def test_a_lambda_is_a_function() -> None:
    name = 'lambda batch, _: batch.write.jdbc(URL, "orders", mode="append")'
    found = sink_of(PROGRAM.format(function="", name=name))
    assert isinstance(found, IntoSink)
    assert found.kind == "postgres"


def test_a_function_of_another_file_stays_one() -> None:
    found = sink_of(PROGRAM.format(function="from jobs import save", name="save"))
    assert isinstance(found, IntoSink)
    assert found.written("hf") == "hf.ForeachBatch(save)"
    assert "it is not in this file" in found.notes[0]


@pytest.mark.parametrize("table", ['"orders"', "named()"])
def test_a_table_that_is_named_is_taken(table: str) -> None:
    body = f'batch.write.jdbc(secret(), {table}, mode="append")'
    found = sink_of(with_function(body), named=NamedTable("file:/run/dsn", "orders"))
    assert isinstance(found, IntoSink)
    assert found.written("hf") == 'hf.Postgres("file:/run/dsn", table="orders")'


def test_the_note_says_what_the_dsn_is_and_keeps_the_secret() -> None:
    found = sink_of(with_function('batch.write.jdbc(URL, "orders", mode="append")'))
    assert found.notes[1] == (  # type: ignore[union-attr]
        'Set the variable ORDERS_DSN to the DSN of the database, such as "host=db port=5433 '
        'dbname=shop user=…". hf.Postgres takes no JDBC URL.'
    )


@pytest.mark.parametrize("step", FORMATS)
def test_a_sink_that_holdfast_does_not_have(step: str) -> None:
    text = f'df = spark.readStream.load()\ndf.writeStream.{step}.start("/out")\n'
    found = sink_of(text)
    assert isinstance(found, NoSink)
    assert (found.is_certain, found.why) == FORMATS[step]
