"""Writes rows as Spark's UnsafeRow has them, for tests."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

from tests.fuzz import writers


def row(*fields: int | bytes | tuple[bytes] | None) -> bytes:
    """Return a row: 8 bytes of a field as a number, longer values as bytes behind the fields."""
    words = (len(fields) + 63) // 64
    nulls = sum(1 << place for place, each in enumerate(fields) if each is None)
    head, tail = nulls.to_bytes(8 * words, "little"), b""
    first = len(head) + 8 * len(fields)
    for each in fields:
        if isinstance(each, bytes):
            head += struct.pack("<II", len(each), first + len(tail))
            tail += each + bytes(-len(each) % 8)
        elif isinstance(each, tuple):  # the 8 bytes themselves
            head += each[0].ljust(8, b"\0")
        else:
            head += struct.pack("<q", each or 0)
    return head + tail


def struct_of(**fields: Any) -> dict[str, Any]:
    """Return a schema."""
    named = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in fields.items()
    ]
    return {"type": "struct", "fields": named}


def schema_file(key: dict[str, Any], value: dict[str, Any]) -> bytes:
    """Return a schema file of version 2."""
    return writers.utf("v2") + writers.chunks(json.dumps(key)) + writers.chunks(json.dumps(value))


def checkpoint_files(
    batches: Sequence[Sequence[tuple[bytes, bytes | None]]],
    key: dict[str, Any],
    value: dict[str, Any],
    *,
    conf: dict[str, str] | None = None,
) -> dict[str, bytes]:
    """Return a checkpoint with an HDFS-backed store of one partition, one delta for each batch."""
    settings = {"spark.sql.shuffle.partitions": "1"} | (conf or {})
    entry = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 1, "conf": settings})
    files = {"metadata": b'{"id":"00000000-0000-0000-0000-000000000000"}'}
    for batch, changes in enumerate(batches):
        files[f"offsets/{batch}"] = writers.versioned(1, entry, '{"logOffset":0}')
        files[f"commits/{batch}"] = writers.versioned(1, '{"nextBatchWatermarkMs":0}')
        files[f"state/0/0/{batch + 1}.delta"] = writers.stored(writers.pairs(changes))
    files["state/0/0/_metadata/schema"] = schema_file(key, value)
    return files
