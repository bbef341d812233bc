"""Which Arrow types go into which columns of SQLite, and as what values.

A column of SQLite takes any value, and converts it by its affinity: '1.0' becomes 1 in a NUMERIC
column, 3.0 becomes 3 in an INTEGER one. So a value goes only where its affinity leaves it alone.
What SQLite has no type for is a text that sorts as its values do: days, times, and decimals as
their digits. SQLite keeps no -0.0, and makes NULL of NaN: both are refused.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.sinks.arrow_columns import Array
from holdfast.sinks.database import values
from holdfast.sinks.database.bound_values import as_float, as_int, as_is
from holdfast.sinks.database.target import Check, Column, Field, Form

_ANY = "blob"
"""The affinity that leaves every value alone."""
_BY_DIGITS = "holds numbers as texts, which sort by their digits"


def suggest_type(kind: pa.DataType) -> str | None:
    """Return the type of a column that keeps every value of an Arrow type; None for none."""
    plain = (
        (pa.types.is_boolean, "INTEGER"),
        (pa.types.is_signed_integer, "INTEGER"),
        (pa.types.is_floating, "REAL"),
        (_is_binary, "BLOB"),
        (lambda each: any(fits(each) for fits in _AS_TEXT), "TEXT"),
    )
    return next((name for fits, name in plain if fits(kind)), None)


def find_field(name: str, kind: pa.DataType, column: Column) -> Field | None:
    """Return how values of an Arrow type are written into a column; None when not."""
    if column.is_generated:
        return None
    nulls = () if column.is_nullable else (values.refuse_null,)
    if pa.types.is_boolean(kind) or pa.types.is_signed_integer(kind):
        return _field(name, column, ("integer", "numeric"), form=as_int, checks=nulls)
    if pa.types.is_floating(kind):
        checks = (*nulls, values.refuse_nan, values.refuse_negative_zero)
        return _field(name, column, ("real",), form=as_float, checks=checks)
    if _is_binary(kind):
        return _field(name, column, (), form=as_is, checks=nulls)
    for fits, (form, checks) in _AS_TEXT.items():
        if fits(kind):
            return _field(name, column, ("text",), form=form, checks=(*nulls, *checks))
    return None


def _field(
    name: str, column: Column, affinities: tuple[str, ...], *, form: Form, checks: tuple[Check, ...]
) -> Field | None:
    if column.kind not in (*affinities, _ANY):
        return None
    is_float = form is as_float
    return Field(
        name=name,
        form=form,
        checks=checks,
        is_inexact_key="numbers with a point are no exact keys" if is_float else "",
        other_order=_BY_DIGITS if form is _as_digits else "",
    )


def _as_text(column: Array) -> list[object]:
    return list(column.cast(pa.string()).to_pylist())


def _as_digits(column: Array) -> list[object]:
    return [None if each is None else format(each, "f") for each in column.to_pylist()]


def _as_time(column: Array) -> list[object]:
    text = values.microseconds(column).cast(pa.string())
    if column.type.tz:
        text = pc.binary_join_element_wise(text, "+00:00", "")
    return list(text.to_pylist())


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


_AS_TEXT: dict[Callable[..., bool], tuple[Form, tuple[Check, ...]]] = {
    pa.types.is_string: (_as_text, ()),
    pa.types.is_large_string: (_as_text, ()),
    pa.types.is_decimal: (_as_digits, ()),
    pa.types.is_date: (_as_text, (values.refuse_far_days,)),
    pa.types.is_timestamp: (_as_time, (values.refuse_far_times,)),
}
"""What is written as a text, how, and what is refused."""
