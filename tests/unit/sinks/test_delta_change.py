"""Which columns of a Delta table have a type that would change a stream's values."""

from __future__ import annotations

import json

import pytest

from holdfast.sinks.delta.change import find_other_types


def schema(**columns: object) -> str:
    fields = [{"name": name, "type": kind} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


@pytest.mark.parametrize(
    ("brought", "there", "is_other"),
    [
        ("integer", "integer", False),
        ("integer", "long", False),
        ("byte", "integer", False),
        ("float", "double", False),
        ("long", "integer", True),
        ("double", "integer", True),
        ("integer", "double", True),
        ("timestamp", "date", True),
        ("decimal(10,2)", "decimal(10,0)", True),
        ("decimal(10,2)", "decimal(10,2)", False),
    ],
)
def test_only_a_type_that_holds_every_value_is_the_same(
    brought: str, there: str, *, is_other: bool
) -> None:
    found = find_other_types(schema(Amount=there, more="string"), {"amount": brought})
    assert found == (["amount"] if is_other else [])


def test_what_the_table_lacks_or_nests_is_left_to_delta() -> None:
    nested = {"type": "array", "elementType": "integer"}
    assert find_other_types(schema(a=nested), {"a": "integer", "b": "long"}) == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fields": 7}', '{"fields": [7, null]}'])
def test_a_schema_that_cannot_be_read_says_nothing(text: str) -> None:
    assert find_other_types(text, {"a": "integer"}) == []
