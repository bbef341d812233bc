"""Which columns files can hold, and with which types they are read back."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
)

from holdfast.errors import ConfigError
from holdfast.sinks.contents import nullable
from holdfast.sinks.files.columns import check_columns
from holdfast.sinks.files.contents import open_contents
from holdfast.sinks.files.sink import Files
from tests.stand_ins import stand_in
from tests.unit.sinks import files_on_disk
from tests.unit.sinks.files_on_disk import BATCHES, DiskLake, Driver

without_spark = files_on_disk.without_spark


def schema(kind: DataType) -> StructType:
    return StructType().add("id", LongType(), nullable=False).add("v", kind)


@pytest.mark.parametrize(
    ("format_", "kind", "is_held"),
    [
        ("csv", StringType(), True),
        ("csv", ArrayType(LongType()), False),
        ("json", ArrayType(LongType()), True),
        ("json", MapType(StringType(), LongType()), False),
        ("json", ArrayType(MapType(StringType(), LongType())), False),
        ("parquet", MapType(StringType(), LongType()), True),
    ],
)
def test_what_text_does_not_give_back_is_refused(
    format_: str, kind: DataType, *, is_held: bool
) -> None:
    sink = Files("/lake/readings", format=format_)
    if is_held:
        check_columns(schema(kind), sink)
    else:
        with pytest.raises(ConfigError, match=r"The column v is .* do not give back"):
            check_columns(schema(kind), sink)


def test_every_column_and_element_of_a_table_can_be_null() -> None:
    inner = StructType().add("n", IntegerType(), nullable=False)
    kinds = (inner, ArrayType(LongType(), False), MapType(StringType(), LongType(), False))
    given, expected = StructType(), StructType()
    for name, kind in zip("abc", kinds, strict=True):
        given.add(name, kind, nullable=False)
    expected.add("a", StructType().add("n", IntegerType()))
    expected.add("b", ArrayType(LongType())).add("c", MapType(StringType(), LongType()))
    assert nullable(given) == expected


class Reader:
    """Spark's reader of files, which keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        def ask(*given: Any, **options: Any) -> Reader:
            self.asked[name] = given or options
            return self

        return ask


@pytest.mark.usefixtures("without_spark")
def test_the_batches_of_the_ledger_are_read_with_the_columns_of_the_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, reader = DiskLake(tmp_path), Reader()
    assert Driver(lake, epoch=1).live()
    monkeypatch.setattr("pyspark.sql.functions.col", lambda name: name)
    df = SimpleNamespace(sparkSession=SimpleNamespace(read=reader), schema=schema(LongType()))
    with open_contents(lake.sink, stand_in(df), "readings") as contents:
        assert contents.row == lake.ledger().read("readings")
    (read,) = reader.asked["schema"]
    expected = StructType().add("id", LongType()).add("v", LongType()).add("hf_batch", "string")
    assert read == expected
    ((*where,),) = reader.asked["load"]
    assert [each.rpartition("/")[2] for each in where] == [
        f"hf_batch=readings.1.{batch:09d}" for batch in range(BATCHES)
    ]
    assert reader.asked["select"] == ("`id`", "`v`")
