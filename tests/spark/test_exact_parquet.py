"""A batch that is materialised comes back as it was, under settings that change Parquet."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from holdfast.proof.multiset import compare
from holdfast.spark.errors import spark_errors
from holdfast.spark.exact_parquet import read_exactly, write_exactly

HOSTILE = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY",
    "spark.sql.parquet.writeLegacyFormat": "true",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.fieldId.read.enabled": "true",
    "spark.sql.parquet.binaryAsString": "true",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "false",
    "spark.sql.parquet.mergeSchema": "true",
    "spark.sql.parquet.compression.codec": "lzo",
    "spark.sql.files.ignoreCorruptFiles": "true",
    "spark.sql.files.ignoreMissingFiles": "true",
    "spark.sql.session.timeZone": "America/St_Johns",
    "spark.sql.ansi.enabled": "false",
}
VALUES = """SELECT timestamp'2024-01-01 00:00:00.123456Z' AS at,
    timestamp'1000-01-01 00:00:00.000001Z' AS old, date'1000-01-01' AS day,
    timestamp_ntz'1500-02-28 23:59:59.999999' AS ntz, X'00FF' AS raw, 'x ' AS text,
    cast('-0.0' AS double) AS zero, cast('NaN' AS float) AS nan,
    cast('12345678901234567890.123456789012345678' AS decimal(38, 18)) AS large,
    cast(1.5 AS decimal(5, 2)) AS small, interval 1 day 2 seconds AS span,
    array(named_struct('in', timestamp'0001-01-01 00:00:00.654321Z'), null) AS nested,
    map('k', X'80') AS map, cast(null AS string) AS nothing"""


@pytest.fixture
def hostile(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    for name, value in HOSTILE.items():
        session.conf.set(name, value)
    return session


def test_every_value_comes_back_and_the_settings_stay(
    hostile: SparkSession, tmp_path: Path
) -> None:
    frame = hostile.sql(VALUES)
    write_exactly(frame, str(tmp_path / "rows"))
    back = read_exactly(hostile, str(tmp_path / "rows"), frame.schema)
    # As text inside Spark: Python's own dates and times do not reach as far.
    shown = [f"cast({name} AS string) AS {name}" for name in frame.columns]
    exact = ("unix_micros(at)", "unix_micros(old)", "unix_date(day)", "hex(raw)", "hash(nested)")
    columns = [*shown, *exact]
    assert compare(
        [str(row) for row in frame.selectExpr(*columns).collect()],
        [str(row) for row in back.selectExpr(*columns).collect()],
    ).exact
    kept, given = (
        [(field.name, field.dataType.simpleString()) for field in each.schema]
        for each in (read_exactly(hostile, str(tmp_path / "rows")), frame)
    )
    assert kept == given
    assert {name: hostile.conf.get(name) for name in HOSTILE} == HOSTILE


def test_a_damaged_file_is_an_error_and_not_fewer_rows(
    hostile: SparkSession, tmp_path: Path
) -> None:
    frame = hostile.range(3)
    write_exactly(frame, str(tmp_path / "rows"))
    for file in (tmp_path / "rows").glob("*.parquet"):
        file.write_bytes(b"PAR1" + b"\x00" * 64)
    for checksum in (tmp_path / "rows").glob(".*.crc"):
        checksum.unlink()
    with pytest.raises(spark_errors()):
        read_exactly(hostile, str(tmp_path / "rows"), frame.schema).collect()


def test_columns_are_read_by_name_and_unpadded(hostile: SparkSession, tmp_path: Path) -> None:
    metadata = {"parquet.field.id": 7, "__CHAR_VARCHAR_TYPE_STRING": "char(5)"}
    schema = StructType([StructField("v", StringType(), metadata=metadata)])
    frame = hostile.createDataFrame([("ab",)], schema)
    write_exactly(frame, str(tmp_path / "rows"))
    back = read_exactly(hostile, str(tmp_path / "rows"), frame.schema)
    assert [row.v for row in back.collect()] == ["ab"]
