"""The bytes of a tuple do not depend on how they are laid out."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from holdfast.sinks.postgres import encode
from holdfast.sinks.postgres.types import find_encoder

KINDS = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float8": pa.float64(),
    "bool": pa.bool_(),
    "text": pa.string(),
    "timestamp": pa.timestamp("us"),
}


def column(kind: Any, rng: random.Random, *, rows: int, nulls: bool) -> Any:
    numbers = [None if nulls and rng.random() < 0.3 else rng.randrange(100) for _ in range(rows)]
    if pa.types.is_boolean(kind):
        return pa.array([None if each is None else each > 50 for each in numbers], kind)
    if pa.types.is_string(kind):
        return pa.array([None if each is None else "é" * (each % 7) for each in numbers], kind)
    return pa.array(numbers, kind)


@pytest.mark.parametrize("rows", [1, 2, 257])
@pytest.mark.parametrize("nulls", [False, True])
def test_without_numpy_the_bytes_are_the_same(
    monkeypatch: pytest.MonkeyPatch, seed: int, *, rows: int, nulls: bool
) -> None:
    rng = random.Random(seed)
    columns = [column(kind, rng, rows=rows, nulls=nulls) for kind in KINDS.values()]
    batch = pa.record_batch(columns, names=list(KINDS))
    found = [find_encoder(kind, name) for name, kind in KINDS.items()]
    encoders = [each for each in found if each is not None]
    with_numpy = bytes(encode.encode_batch(batch, encoders))
    monkeypatch.setattr(encode, "_WORDS", ())
    assert bytes(encode.encode_batch(batch, encoders)) == with_numpy
