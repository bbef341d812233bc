"""Reads an Iceberg table of a JDBC catalog without Spark, knowing nothing of Holdfast.

The catalog says which metadata file is current; from there manifests name the files. Tables whose
rows are deleted by delete files are not read: they need more than this.
"""

from __future__ import annotations

import io
import json
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import msgspec
import psycopg
import pyarrow as pa
from pyarrow import parquet

_POINTER = (
    "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = %s AND table_name = %s"
)
_MAGIC = b"Obj\x01"
_DATA, _DELETED = 0, 2
_NESTED = ("record", "array", "map", "fixed")
_SIZES = {"null": 0, "boolean": 1, "float": 4, "double": 8, "bytes": None}
"""Values that are given as their bytes; None: their length comes before them."""


class DamagedFileError(Exception):
    """A file that a committed snapshot has is not the one that was committed."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A table at one moment."""

    properties: dict[str, str]
    rows: list[tuple[Any, ...]]


def read_table(dsn: str, name: str) -> Found:
    """Return what a table holds; empty before it is there.

    Args:
        dsn: Of the catalog's database.
        name: Namespace and table: `db.readings`.
    """
    namespace, _, table = name.rpartition(".")
    with psycopg.connect(dsn) as connection:
        made = connection.execute("SELECT to_regclass('iceberg_tables')").fetchone()
        pointer = (
            None if made == (None,) else connection.execute(_POINTER, [namespace, table]).fetchone()
        )
    if pointer is None:
        return Found(properties={}, rows=[])
    metadata = json.loads(_file(pointer[0]).read_bytes())
    current = metadata.get("current-snapshot-id")
    snapshots = {each["snapshot-id"]: each for each in metadata["snapshots"]}
    rows: list[tuple[Any, ...]] = []
    if current in snapshots:
        for manifest in _records(_file(snapshots[current]["manifest-list"])):
            rows += _rows_of(manifest)
    return Found(properties=metadata["properties"], rows=rows)


def _rows_of(manifest: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for entry in _records(_file(manifest["manifest_path"])):
        if entry["status"] == _DELETED:
            continue
        found = entry["data_file"]
        assert found.get("content", _DATA) == _DATA, "the table has delete files"
        read = _parquet(found)
        rows += [tuple(row.values()) for row in read.to_pylist()]
    return rows


def _parquet(found: dict[str, Any]) -> pa.Table:
    """Return the rows of a data file that a snapshot has."""
    path, rows = _file(found["file_path"]), found["record_count"]
    try:
        size = path.stat().st_size
        read = parquet.ParquetFile(path).read()
    except FileNotFoundError as error:
        raise DamagedFileError(f"{path.name} is gone") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise DamagedFileError(f"{path.name} has {size} bytes and is not Parquet") from error
    if size != found["file_size_in_bytes"] or read.num_rows != rows:
        raise DamagedFileError(f"{path.name} is another file: {read.num_rows} rows, not {rows}")
    return read


def _file(location: str) -> Path:
    return Path(urlparse(location).path)


def _records(path: Path) -> list[dict[str, Any]]:
    """Return the records of an Avro file."""
    data = io.BytesIO(path.read_bytes())
    assert data.read(4) == _MAGIC, f"{path} is not an Avro file"
    header = _read(data, {"type": "map", "values": "bytes"})
    sync, schema = data.read(16), json.loads(header["avro.schema"])
    records: list[dict[str, Any]] = []
    while data.tell() < len(data.getbuffer()):
        count, size = _long(data), _long(data)
        block = data.read(size)
        if header.get("avro.codec") == b"deflate":
            block = zlib.decompress(block, -15)
        inner = io.BytesIO(block)
        records += [_read(inner, schema) for _ in range(count)]
        assert data.read(16) == sync, f"{path} is damaged"
    return records


def _long(data: io.BytesIO) -> int:
    value = shift = 0
    while True:
        byte = data.read(1)[0]
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1)


def _read(data: io.BytesIO, schema: Any) -> Any:
    """Return the next value of a schema."""
    kind = schema[_long(data)] if isinstance(schema, list) else schema
    if isinstance(kind, dict) and isinstance(kind["type"], str):
        return _nested(data, kind) if kind["type"] in _NESTED else _plain(data, kind["type"])
    return _read(data, kind["type"]) if isinstance(kind, dict) else _plain(data, kind)


def _plain(data: io.BytesIO, kind: str) -> Any:
    if kind in _SIZES:
        size = _SIZES[kind]
        return data.read(_long(data) if size is None else size)
    if kind in ("int", "long"):
        return _long(data)
    if kind == "string":
        return data.read(_long(data)).decode()
    raise AssertionError(f"an Avro value of the unknown type {kind}")


def _nested(data: io.BytesIO, schema: Any) -> Any:
    kind = schema["type"]
    if kind == "fixed":
        return data.read(schema["size"])
    if kind == "record":
        return {each["name"]: _read(data, each["type"]) for each in schema["fields"]}
    blocks = _blocks(data, schema, is_map=kind == "map")
    return dict(blocks) if kind == "map" else [value for _, value in blocks]


def _blocks(data: io.BytesIO, schema: Any, *, is_map: bool) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    while count := _long(data):
        if count < 0:
            count = -count
            _long(data)
        for _ in range(count):
            key = _read(data, "string") if is_map else ""
            found.append((key, _read(data, schema["values"] if is_map else schema["items"])))
    return found
