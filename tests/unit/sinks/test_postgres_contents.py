"""What the rows of a PostgreSQL table are compared with, and where PostgreSQL orders otherwise."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql.types import ArrayType, DataType, DecimalType, StringType

from holdfast.sinks.postgres.contents import _comparable, _read_row, _scale, _ties
from holdfast.sinks.postgres.ledger_tables import VERSION
from holdfast.sinks.postgres.sink import Postgres
from holdfast.sinks.postgres.target import Target
from tests.ledger_rows import ROW
from tests.stand_ins import stand_in
from tests.unit.sinks.answering_server import Server, tables_of

CANONICAL = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"


def target(**given: Any) -> Target:
    fixed: dict[str, Any] = {
        "name": '"readings"',
        "display_name": "public.readings",
        "storage": "100/100",
        "shape": "",
        "columns": ("id", "tags", "at"),
        "encoders": (),
    }
    return Target(**fixed, **given)


class Text:
    """A column of one row."""

    def __init__(self, value: str | None) -> None:
        self.value = value

    def isNotNull(self) -> bool:  # noqa: N802 - Spark's own name
        return self.value is not None

    def then(self, change: Callable[[str], str]) -> Text:
        return Text(None if self.value is None else change(self.value))


@pytest.fixture
def _spark_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of Spark, as its documentation has them, of the one row."""
    functions: dict[str, Callable[..., Any]] = {
        "lower": lambda each: each.then(str.lower),
        "regexp_replace": lambda each, old, new: each.then(lambda text: re.sub(old, new, text)),
        "substring": lambda each, at, size: each.then(lambda text: text[at - 1 :][:size]),
        "concat_ws": lambda by, *parts: by.join(each.value for each in parts if each.isNotNull()),
        "when": lambda condition, value: value if condition else None,
        "transform": lambda each, change: [change(Text(one)) for one in each],
    }
    for name, function in functions.items():
        monkeypatch.setattr(f"pyspark.sql.functions.{name}", function)


@pytest.mark.usefixtures("_spark_functions")
@pytest.mark.parametrize("text", [CANONICAL, CANONICAL.upper(), CANONICAL.replace("-", ""), ""])
def test_a_uuid_of_the_stream_is_what_postgresql_makes_of_it(text: str) -> None:
    found = _comparable(stand_in(Text(text or None)), StringType(), "uuid")
    assert found == (CANONICAL if text else None)


@pytest.mark.usefixtures("_spark_functions")
def test_the_elements_of_an_array_are_compared_as_values_of_their_type() -> None:
    given = stand_in([CANONICAL.upper(), None])
    assert _comparable(given, ArrayType(StringType()), "_uuid") == [CANONICAL, None]


@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        (DecimalType(10, 2), 2),
        (ArrayType(DecimalType(10, 3)), 3),
        (StringType(), None),
        (ArrayType(StringType()), None),
    ],
)
def test_decimals_are_read_with_the_scale_of_the_stream(kind: DataType, scale: int | None) -> None:
    assert _scale(kind) == scale


@pytest.mark.parametrize(
    ("changes", "kinds", "said"),
    [
        ({}, {"id": "uuid"}, ""),
        ({"keys": ("id",)}, {}, ""),
        ({"keys": ("id",)}, {"id": "uuid"}, "PostgreSQL's order of id"),
        ({"keys": ("id",)}, {"tags": "_text"}, "PostgreSQL's order of tags"),
        ({"keys": ("id",), "is_ordered": False}, {}, "PostgreSQL's own text"),
        ({"keys": ("id",), "loose_texts": frozenset({"id"})}, {}, "the key id for one key"),
        ({"keys": ("id",), "loose_texts": frozenset({"at"})}, {}, ""),
    ],
)
def test_where_postgresql_may_keep_another_row_is_said(
    changes: dict[str, Any], kinds: dict[str, str], said: str
) -> None:
    found = _ties(target(**changes), {"id": "int8", "tags": "text", "at": "int8"} | kinds)
    assert said in found
    assert bool(found) == bool(said)


@pytest.mark.parametrize("label", ["gold", "readings"])
def test_the_ledger_row_is_found_under_the_label_that_the_ledger_has(label: str) -> None:
    values = ("readings", label, 1, 1, "n1", "6f0c", ROW.binding.checkpoint, -1, None, "{}")
    server = Server(
        {
            **tables_of(VERSION),
            "SELECT sink FROM": [(label,)] if label == "gold" else [],
            "sink = %s": lambda given: [values] if given == ("readings", label) else [],
        }
    )
    sink = Postgres(lambda: "", table="readings")
    row = _read_row(stand_in(server), sink, target(), stream="readings")
    assert row is not None
    assert row.sink == label
