"""Type modifiers of PostgreSQL, and the values they would change: rounded, cut, or padded.

A column's `atttypmod` limits its type: `numeric(10,2)`, `timestamp(0)`, `varchar(5)`. PostgreSQL
rounds a value that has more digits, and cuts or adds blanks, without an error. From PostgreSQL 15
`utils/adt/numeric.c`, `timestamp.c`, `varchar.c`: -1 is no limit; a length is 4 less than the
modifier; a numeric has its precision in the upper 16 bits and its scale in 11 bits, signed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

NONE = -1
_HEADER = 4
_SCALE_BITS = 11
_MICROSECOND_DIGITS = 6

Array = Any
"""A `pyarrow.Array`, which has no types of its own."""
Check = Callable[[Array], Array]
"""Returns the column; raises ValueError if PostgreSQL would change one of its values."""


def holds_scale(modifier: int, scale: int) -> bool:
    """Return whether a `numeric` keeps every fraction digit of a decimal of this scale."""
    if modifier < _HEADER:
        return True
    sign = 1 << (_SCALE_BITS - 1)
    kept = ((modifier - _HEADER & (2 * sign - 1)) ^ sign) - sign
    return scale <= kept


def find_length_check(target: str, modifier: int) -> Check | None:
    """Return what refuses texts that a limited text type cuts or pads; None without a limit."""
    length = modifier - _HEADER
    if modifier < _HEADER or target not in ("varchar", "bpchar"):
        return None

    def check(column: Array) -> Array:
        lengths = pc.utf8_length(column)
        if target == "varchar" and pc.any(pc.greater(lengths, length)).as_py():
            raise ValueError(f"a text is longer than varchar({length}) holds")
        if target == "bpchar" and pc.any(pc.not_equal(lengths, length)).as_py():
            raise ValueError(f"a text has not {length} characters: char({length}) would pad it")
        return column

    return check


def find_precision_check(modifier: int) -> Check | None:
    """Return what refuses timestamps that a lower precision rounds; None without a limit."""
    if not 0 <= modifier < _MICROSECOND_DIGITS:
        return None
    unit = 10 ** (_MICROSECOND_DIGITS - modifier)

    def check(column: Array) -> Array:
        number = column.cast(pa.int64())
        whole = pc.multiply(pc.divide(number, unit), unit)
        if pc.any(pc.not_equal(number, whole)).as_py():
            raise ValueError(f"a time would be rounded to {modifier} digits of a second")
        return column

    return check


def refuse_infinities(raw: Array) -> Array:
    """Return dates or times as PostgreSQL counts them; its two ends mean -infinity and infinity."""
    ends = (-(1 << raw.type.bit_width - 1), (1 << raw.type.bit_width - 1) - 1)
    if len(raw):
        found = pc.min_max(raw).as_py()
        if found["min"] == ends[0] or found["max"] == ends[1]:
            raise ValueError("a date or time is so far away that PostgreSQL reads it as infinity")
    return raw
