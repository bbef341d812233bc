"""How the dialects that bind find the field of a column: by the first rule that knows the types."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import pyarrow as pa

from holdfast.sinks.database import values
from holdfast.sinks.database.target import Check, Column, Field

Rule = Callable[[str, pa.DataType, Column], Field | None]
"""How values of an Arrow type go into a column; None when it does not know the types."""
FINEST = 6
"""Digits of a second that Spark has. A column with more can hold what a stream never brings."""
FLOAT_CHECKS: tuple[Check, ...] = (
    values.refuse_nan,
    values.refuse_infinite,
    values.refuse_negative_zero,
    values.refuse_subnormal,
)
INEXACT_FLOAT = "numbers with a point are no exact keys"


def find_first(
    rules: Sequence[Rule], name: str, kind: pa.DataType, *, column: Column
) -> Field | None:
    """Return what the first rule says that knows the types; it refuses NULL where it must."""
    if column.is_generated:
        return None
    found = next((field for rule in rules if (field := rule(name, kind, column))), None)
    if found is None or column.is_nullable:
        return found
    return msgspec.structs.replace(found, checks=(values.refuse_null, *found.checks))


def holds_decimal(kind: pa.DataType, *, precision: int, scale: int) -> bool:
    """Return whether a column has room for every digit of a decimal."""
    return bool(scale >= kind.scale and precision - scale >= kind.precision - kind.scale)


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_binary(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of bytes."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def first_name(kind: pa.DataType, names: Sequence[tuple[Callable[..., bool], str]]) -> str | None:
    """Return the name beside the first test that a type passes; None without one."""
    return next((name for fits, name in names if fits(kind)), None)
