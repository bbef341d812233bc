"""Arrow to PostgreSQL's binary COPY: a record batch becomes the bytes of its tuples.

From PostgreSQL 15, "COPY, Binary Format": a tuple is int16 number of fields, then per field int32
length (-1 for NULL) and the value in the form of its type's `recv`, big-endian.

Columns are turned into bytes one by one, all rows at a time, and Arrow joins them row by row: no
Python runs per row. Fixed-width values are laid out by strided copies, which turn them to
big-endian on the way: by numpy where it is installed, else byte by byte. This module runs on
executors too, with the standard library and pyarrow alone.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from holdfast.sinks.arrow_columns import Array, InexactError, payload_of

try:
    import numpy as np

    _WORDS: tuple[int, ...] = (2, 4, 8)
except ImportError:
    _WORDS = ()

HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
TRAILER = b"\xff\xff"


@dataclass(frozen=True, slots=True)
class Fixed:
    """A type all of whose values have as many bytes."""

    width: int
    encode: Callable[[Array], bytes]
    """From an array without NULLs to its values, little-endian, one after the other."""
    filler: object = 0
    """What stands for NULL while the others are encoded."""


@dataclass(frozen=True, slots=True)
class Varying:
    """A type whose values differ in length."""

    encode: Callable[[Array], Array]
    """From an array to its values as an array of binary ones, NULL where they are."""


Encoder = Fixed | Varying


def encode_batch(batch: pa.RecordBatch, encoders: Sequence[Encoder]) -> memoryview:
    """Return the tuples of a record batch, without COPY's header and trailer.

    Raises:
        InexactError: A value cannot be written as it is.
    """
    if batch.num_rows == 0:
        return memoryview(b"")
    fields = struct.pack("<h", batch.num_columns)
    return payload_of(join_fields(fields, batch.columns, encoders, rows=batch.num_rows))


def join_fields(
    start: bytes, columns: Sequence[Array], encoders: Sequence[Encoder], *, rows: int
) -> Array:
    """Return, per row, a fixed start and then each column's value with its length before it.

    Raises:
        InexactError: A value cannot be written as it is.
    """
    parts: list[Array] = []
    fixed: list[tuple[bytes, int]] = [(start, len(start))] if start else []
    for place, (column, encoder) in enumerate(zip(columns, encoders, strict=True)):
        is_plain = isinstance(encoder, Fixed) and column.null_count == 0
        try:
            values: Any = encoder.encode(column) if is_plain else as_binary(column, encoder)
        except ValueError as error:  # Arrow's are such too
            raise InexactError(place, str(error)) from error
        if isinstance(encoder, Fixed) and is_plain:
            fixed.append((struct.pack("<i", encoder.width), 4))
            fixed.append((values, encoder.width))
            continue
        lengths = pc.binary_length(values).fill_null(-1)
        fixed.append((little_endian(lengths, 4), 4))
        parts += [lay_out(fixed, rows), values.fill_null(b"")]
        fixed = []
    if fixed:
        parts.append(lay_out(fixed, rows))
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, b"")


def as_binary(column: Array, encoder: Encoder) -> Array:
    """Return the values of a column as binary ones, NULL where they are."""
    if isinstance(encoder, Varying):
        return encoder.encode(column)
    filled = column.fill_null(pa.scalar(encoder.filler, column.type))
    values = lay_out([(encoder.encode(filled), encoder.width)], len(column))
    return pc.if_else(column.is_valid(), values, pa.scalar(None, pa.binary()))


def lay_out(fields: Sequence[tuple[bytes, int]], rows: int) -> Array:
    """Return rows of fixed-width fields side by side, each turned to big-endian, as binary values.

    A field is given as all its values or, when they are the same in every row, as one; of a single
    row that is the same.
    """
    width = sum(size for _, size in fields)
    same = b"".join(raw[::-1] if len(raw) == size else bytes(size) for raw, size in fields)
    out = bytearray(same * rows)
    at = 0
    for raw, size in fields:
        if len(raw) != size:
            _place(raw, size, out, at=at, width=width)
        at += size
    whole = pa.Array.from_buffers(pa.binary(width), rows, [None, pa.py_buffer(out)])
    return whole.cast(pa.binary())


def _place(raw: bytes, size: int, out: bytearray, *, at: int, width: int) -> None:
    """Copy a field's values to their place in every row, turned to big-endian."""
    if size in _WORDS:
        rows = len(raw) // size
        there = np.ndarray((rows,), f">u{size}", out, offset=at, strides=(width,))
        there[:] = np.frombuffer(raw, f"<u{size}")
        return
    for byte in range(size):
        out[at + size - 1 - byte :: width] = raw[byte::size]


def little_endian(column: Array, width: int) -> bytes:
    """Return the values of a fixed-width column as they lie in memory."""
    data = memoryview(column.buffers()[1])
    return bytes(data[column.offset * width : (column.offset + len(column)) * width])
