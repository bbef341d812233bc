"""Where a table is stricter than a stream: nullability at any depth."""

from __future__ import annotations

from typing import Any

import pytest

types = pytest.importorskip("pyspark.sql.types")

from holdfast.sinks.spark_columns import find_stricter, without_lengths  # noqa: E402

TEXT = types.StringType()


def struct(nullable: bool, kind: Any = TEXT) -> Any:
    return types.StructType([types.StructField("v", kind, nullable)])


@pytest.mark.parametrize(
    ("mine", "kept", "in_structs", "expected"),
    [
        (types.ArrayType(TEXT, False), types.ArrayType(TEXT, True), True, None),
        (types.ArrayType(TEXT, True), types.ArrayType(TEXT, False), False, "c.element"),
        (types.MapType(TEXT, TEXT, True), types.MapType(TEXT, TEXT, False), False, "c.value"),
        (struct(True), struct(False), True, "c.v"),
        (struct(True), struct(False), False, None),
        (struct(False), struct(True), True, None),
        (struct(True, struct(True)), struct(True, struct(False)), True, "c.v.v"),
        (types.ArrayType(struct(True)), types.ArrayType(struct(False)), False, "c.element.v"),
        (
            types.MapType(struct(True), TEXT),
            types.MapType(struct(False), TEXT),
            False,
            "c.key.v",
        ),
        (TEXT, TEXT, True, None),
    ],
)
def test_what_is_stricter_is_named(
    mine: Any, kept: Any, *, in_structs: bool, expected: str | None
) -> None:
    assert find_stricter(mine, kept, "c", in_structs=in_structs) == expected


def test_a_new_table_gets_no_lengths_from_the_stream() -> None:
    kept = {"comment": "kept"}
    lengths = {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}
    given = types.StructType([types.StructField("v", TEXT, False, {**kept, **lengths})])
    assert without_lengths(given) == types.StructType([types.StructField("v", TEXT, False, kept)])
