"""A table of PostgreSQL is read back exactly: every type, by the driver and by a task."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

import holdfast as hf
from holdfast.proof.tables import prove_tables
from holdfast.proof.values import Comparison
from holdfast.sinks.collect import BUDGET_SETTING
from holdfast.sinks.contents import BEYOND
from tests.spark.file_stream import Stream

COLUMNS = {
    # name: PostgreSQL's type, its value there, the stream's value, another value there
    "a_bool": ("boolean", "true", "true", "false"),
    "a_short": ("smallint", "7", "smallint(7)", "8"),
    "an_int": ("bigint", "-7", "int(-7)", "4294967289"),
    "a_real": ("real", "0.1", "float(0.1)", "0.10000001"),
    "a_float": ("float8", "0.1::float4", "float(0.1)", "0.1"),
    "a_double": ("float8", "'-0.0'", "double('-0.0')", "'0.0'"),
    "a_sum": ("float8", "0.30000000000000004", "0.1D + 0.2D", "0.3"),
    "a_nan": ("float8", "'NaN'", "double('NaN')", "'Infinity'"),
    "a_number": ("numeric", "1.50", "cast(1.50 as decimal(10,2))", "1.501"),
    "the_largest": ("numeric", "9" * 38, f"cast('{'9' * 38}' as decimal(38,0))", "1" + "0" * 38),
    "a_text": ("text", "'é\U0001f600'", "'é\U0001f600'", "'e\u0301\U0001f600'"),
    "a_varchar": ("varchar(9)", "'x '", "'x '", "'x'"),
    "a_char": ("char(3)", "'x y'", "'x y'", "'x'"),
    "some_bytes": ("bytea", r"'\x00ff'", "X'00FF'", r"'\x00'"),
    "a_date": ("date", "'0044-03-15'", "date '0044-03-15'", "'infinity'"),
    "before_christ": ("date", "'0044-03-15 BC'", "date '-0043-03-15'", "'0043-03-15 BC'"),
    "a_time": (
        "timestamptz",
        "'2026-01-01 00:00:00.000001Z'",
        "timestamp '2026-01-01 00:00:00.000001Z'",
        "'infinity'",
    ),
    "a_plain_time": (
        "timestamp",
        "'2026-01-01 00:00:00.5'",
        "timestamp_ntz '2026-01-01 00:00:00.5'",
        "'2026-01-01 00:00:00.500001'",
    ),
    "year_10000": (
        "timestamp",
        "'10000-01-01'",
        "timestamp_ntz '+10000-01-01 00:00:00'",
        "'10000-01-01 00:00:01'",
    ),
    "a_plain_time_bc": (
        "timestamp",
        "'0001-12-31 23:59:59.9 BC'",
        "timestamp_ntz '0000-12-31 23:59:59.9'",
        "'0001-12-31 23:59:59.9'",
    ),
    "a_uuid": (
        "uuid",
        "'0e37df36-f698-11e6-8dd4-cb9ced3df976'",
        "'0E37DF36-F698-11E6-8DD4-CB9CED3DF976'",
        "'0e37df36-f698-11e6-8dd4-cb9ced3df977'",
    ),
    "a_json": ("json", """'{"a" : 1}'""", """'{"a" : 1}'""", """'{"a":1}'"""),
    "a_jsonb": ("jsonb", """'{"b": 2.0, "a": 1}'""", """'{"a":1,  "b":2}'""", """'{"a":1}'"""),
    "texts": ("text[]", "'{a,NULL,b}'", "array('a', NULL, 'b')", "'{a,b,NULL}'"),
    "integers": ("bigint[]", "'{5,NULL}'", "array(5, NULL)", "'{4294967301,NULL}'"),
    "reals": ("real[]", "'{0.1}'", "array(float(0.1))", "'{0.10000001}'"),
    "doubles": ("float8[]", "'{0}'", "array(float(0))", "'{-0}'"),
    "numbers": ("numeric[]", "'{1.10}'", "array(cast(1.1 as decimal(10,2)))", "'{1.104}'"),
    "days": ("date[]", "'{2026-01-01}'", "array(date '2026-01-01')", "'{infinity}'"),
    "instants": (
        "timestamptz[]",
        "'{2026-01-01 00:00:00Z}'",
        "array(timestamp '2026-01-01 00:00:00Z')",
        "'{2026-01-01 00:00:00.000001Z}'",
    ),
    "times": (
        "timestamp[]",
        "'{10000-01-01}'",
        "array(timestamp_ntz '+10000-01-01 00:00:00')",
        "'{10000-01-02}'",
    ),
    "flags": ("boolean[]", "'{t,f}'", "array(true, false)", "'{f,t}'"),
    "blobs": ("bytea[]", r"ARRAY['\x00'::bytea]", "array(X'00')", r"ARRAY['\x0000'::bytea]"),
    "uuids": (
        "uuid[]",
        "'{0e37df36-f698-11e6-8dd4-cb9ced3df976,NULL}'",
        "array('0E37DF36-F698-11E6-8DD4-CB9CED3DF976', NULL)",
        "'{0e37df36-f698-11e6-8dd4-cb9ced3df977,NULL}'",
    ),
    "jsons": ("jsonb[]", "ARRAY['[1]'::jsonb]", "array('[ 1 ]')", "ARRAY['[2]'::jsonb]"),
    "no_elements": ("text[]", "'{}'", "cast(array() as array<string>)", "NULL"),
    "shifted": ("int[]", "'{1,2}'", "array(1, 2)", "'[0:1]={1,2}'"),
    "nothing": ("bigint", "NULL", "cast(NULL as bigint)", "0"),
}


@pytest.fixture(params=["by the driver", "by a task"])
def table(request: pytest.FixtureRequest, stream: Stream) -> Stream:
    stream.spark = stream.spark.newSession()
    if request.param == "by a task":
        stream.spark.conf.set(BUDGET_SETTING, "1")
    columns = ", ".join(f"{name} {kind}" for name, (kind, *_) in COLUMNS.items())
    values = ", ".join(value for _, value, *_ in COLUMNS.values())
    stream.execute(f"CREATE TABLE every (id bigint, {columns})")
    stream.execute(f"INSERT INTO every SELECT g, {values} FROM generate_series(0, 99) g")
    return stream


def compare(stream: Stream, df: DataFrame) -> Comparison:
    sink = hf.Postgres(lambda dsn=stream.dsn: dsn, table="every")  # type: ignore[misc]
    opened = sink.open_contents(df, stream="any")
    assert opened is not None
    with opened as held:
        assert held.row is None
        return prove_tables(held.comparable(df), held.rows, keys=["id"])


def test_every_value_is_read_as_it_is_and_every_other_one_is_seen(table: Stream) -> None:
    selected = ", ".join(f"{value} AS {name}" for name, (_, _, value, _) in COLUMNS.items())
    df = table.spark.sql(f"SELECT id, {selected} FROM range(100)")
    found = compare(table, df)
    assert found.exact, found.examples
    assert (found.expected, found.found) == (100, 100)
    for number, (name, (_, _, _, other)) in enumerate(COLUMNS.items()):
        table.execute(f"UPDATE every SET {name} = {other} WHERE id = {number}")
    found = compare(table, df)
    assert (found.altered, found.lost, found.unexpected) == (len(COLUMNS), 0, 0)
    for example in found.examples:
        assert example.expected is not None
        assert example.found is not None
        # A value that no stream can hold is beside the others, under a name of its own.
        values = [(key, value) for key, value in example.expected.items() if key != BEYOND]
        changed = [key for key, value in values if str(value) != str(example.found[key])]
        assert changed == [list(COLUMNS)[int(str(example.expected["id"]))]], example
