"""Type modifiers of PostgreSQL, and the values they would change: rounded, cut, or padded.

A column's `atttypmod` limits its type: `numeric(10,2)`, `timestamp(0)`, `varchar(5)`. PostgreSQL
rounds a value that has more digits, and cuts or adds blanks, without an error. From PostgreSQL 15
`utils/adt/numeric.c`, `timestamp.c`, `varchar.c`: -1 is no limit; a length is 4 less than the
modifier; a numeric has its precision in the upper 16 bits and its scale in 11 bits, signed.

What a text becomes depends on the database's encoding too. PostgreSQL refuses a character that the
encoding lacks, and in a few cases writes another one instead.
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
_BYTES_ALONE = "SQL_ASCII"
"""An encoding that converts nothing, and counts bytes as characters."""
_ALTERED = {"EUC_JP": r"\x{A6}|\\u00[aA]6"}
"""By encoding, what comes back as another character: U+00A6 as U+FFE4, in jsonb as an escape too.
Found by converting every character there and back, in each encoding of a server."""
_COMBINES = "EUC_JIS_2004"
_COMBINING = r"[\x{2E5}\x{2E9}\x{300}\x{301}\x{309A}]"
"""With the character before, it becomes one: a text is then shorter than it was."""

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


def find_text_checks(target: str, modifier: int, encoding: str) -> tuple[Check, ...]:
    """Return what refuses texts that a column would cut, pad or write with another character.

    Args:
        target: The column's type.
        modifier: Its `atttypmod`.
        encoding: Of the database.
    """
    length = find_length_check(target, modifier, encoding)
    altered = _find_character_check(target, encoding)
    return tuple(check for check in (length, altered) if check is not None)


def find_length_check(target: str, modifier: int, encoding: str = "UTF8") -> Check | None:
    """Return what refuses texts that a limited text type cuts or pads; None without a limit."""
    length = modifier - _HEADER
    if modifier < _HEADER or target not in ("varchar", "bpchar"):
        return None
    measure = pc.binary_length if encoding == _BYTES_ALONE else pc.utf8_length

    def check(column: Array) -> Array:
        lengths = measure(column)
        if target == "varchar" and pc.any(pc.greater(lengths, length)).as_py():
            raise ValueError(f"a text is longer than varchar({length}) holds")
        if target == "bpchar" and pc.any(pc.not_equal(lengths, length)).as_py():
            raise ValueError(f"a text has not {length} characters: char({length}) would pad it")
        return column

    return check


def _find_character_check(target: str, encoding: str) -> Check | None:
    """Return what refuses characters that the database's encoding turns into others."""
    pattern = _ALTERED.get(encoding)
    if encoding == _COMBINES and target == "bpchar":
        pattern = _COMBINING
    if pattern is None:
        return None

    def check(column: Array) -> Array:
        if pc.any(pc.match_substring_regex(column, pattern)).as_py():
            raise ValueError(f"a text has a character that the encoding {encoding} changes")
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
