"""A table of PostgreSQL is read back exactly: every type, by the driver and by a task."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

import holdfast as hf
from holdfast.proof.tables import prove_tables
from holdfast.proof.values import Comparison
from holdfast.sinks.kinds import open_held
from holdfast.sinks.postgres.large import BUDGET_SETTING
from tests.spark.file_stream import Stream

COLUMNS = {
    # name: PostgreSQL's type, its value there, the stream's value, another value there
    "a_bool": ("boolean", "true", "true", "false"),
    "a_short": ("smallint", "7", "smallint(7)", "8"),
    "an_int": ("bigint", "-7", "int(-7)", "4294967289"),
    "a_float": ("float8", "0.1::float4", "float(0.1)", "0.1"),
    "a_double": ("float8", "'-0.0'", "double('-0.0')", "'0.0'"),
    "a_nan": ("float8", "'NaN'", "double('NaN')", "'Infinity'"),
    "a_number": ("numeric", "1.50", "cast(1.50 as decimal(10,2))", "1.501"),
    "a_text": ("text", "'é\U0001f600'", "'é\U0001f600'", "'e\u0301\U0001f600'"),
    "a_varchar": ("varchar(9)", "'x '", "'x '", "'x'"),
    "some_bytes": ("bytea", r"'\x00ff'", "X'00FF'", r"'\x00'"),
    "a_date": ("date", "'0044-03-15'", "date '0044-03-15'", "'infinity'"),
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
    "a_uuid": (
        "uuid",
        "'0e37df36-f698-11e6-8dd4-cb9ced3df976'",
        "'0E37DF36-F698-11E6-8DD4-CB9CED3DF976'",
        "'0e37df36-f698-11e6-8dd4-cb9ced3df977'",
    ),
    "a_list": ("text[]", "'{a,NULL,b}'", "array('a', NULL, 'b')", "'{a,b,NULL}'"),
    "a_json": ("json", """'{"a" : 1}'""", """'{"a" : 1}'""", """'{"a":1}'"""),
    "nothing": ("bigint", "NULL", "cast(NULL as bigint)", "0"),
}


@pytest.fixture(params=["by the driver", "by a task"])
def table(request: pytest.FixtureRequest, stream: Stream) -> Stream:
    stream.spark = stream.spark.newSession()
    if request.param == "by a task":
        stream.spark.conf.set(BUDGET_SETTING, "1")
    columns = ", ".join(f"{name} {kind}" for name, (kind, *_) in COLUMNS.items())
    values = ", ".join(value for _, value, *_ in COLUMNS.values())
    stream.execute(f"CREATE TABLE every (id bigint, binary_json jsonb, {columns})")
    stream.execute(f"INSERT INTO every SELECT g, '[1]', {values} FROM generate_series(0, 99) g")
    return stream


def compare(stream: Stream, df: DataFrame) -> Comparison:
    sink = hf.Postgres(lambda dsn=stream.dsn: dsn, table="every")  # type: ignore[misc]
    opened = open_held(sink, df, stream="any")
    assert opened is not None
    with opened as held:
        assert held.row is None
        assert held.left_out == (
            "the column binary_json: PostgreSQL keeps jsonb in a form of its own",
        )
        return prove_tables(held.comparable(df), held.rows, keys=["id"])


def test_every_value_is_read_as_it_is_and_every_other_one_is_seen(table: Stream) -> None:
    selected = ", ".join(f"{value} AS {name}" for name, (_, _, value, _) in COLUMNS.items())
    df = table.spark.sql(f"SELECT id, '[ 1 ]' AS binary_json, {selected} FROM range(100)")
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
        values = example.expected.items()
        changed = [key for key, value in values if str(value) != str(example.found[key])]
        assert changed == [list(COLUMNS)[example.expected["id"]]], example
