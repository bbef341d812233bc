"""The schema of a state store: what its keys and values are made of.

Grammar, from Spark 4.3 `state/SchemaHelper.scala`; binary, strings as Java's `writeUTF` writes them
(`utf`), long ones in pieces (`chunks` = int32 count, then that many `utf`):

    state/<operator>/0/[<store>/]_metadata/schema          v1 and v2
        utf "v1" · utf key · utf value
        utf "v2" · chunks key · chunks value
    state/<operator>/_stateSchema/<store>/<batch>_<uuid>   v3
        utf "v3" · int32 count · per column family:
            utf name · int16 id · chunks key · int16 id · chunks value · chunks encoder
            · chunks user key

Schemas are the JSON of Spark's `StructType`. A restart compares types, in order, not names.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.checkpoint.binary import BrokenBytesError, ByteSource
from holdfast.checkpoint.text import parse_json_object
from holdfast.checkpoint.unparsed import Unparsed

DEFAULT_FAMILY = "default"
_MOST_FAMILIES = 10_000


class ColumnFamily(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of key and value; stores before v3 have exactly one."""

    name: str
    key: Mapping[str, object]
    """Spark's `StructType`, as JSON."""
    value: Mapping[str, object]
    encoder: Mapping[str, object] | None = None


class StateSchema(msgspec.Struct, frozen=True, kw_only=True):
    """What one schema file says."""

    path: str
    version: int
    families: tuple[ColumnFamily, ...]


def parse_state_schema(path: str, raw: bytes) -> StateSchema | Unparsed:
    """Read a state schema of any version."""
    source = ByteSource(iter((raw,)))
    try:
        version = source.utf()
        families = _parse_families(source, version)
        if not source.ended():
            return Unparsed(path=path, reason="it goes on after its end")
    except BrokenBytesError as error:
        return Unparsed(path=path, reason=str(error))
    return StateSchema(path=path, version=int(version[1:]), families=families)


def _parse_families(source: ByteSource, version: str) -> tuple[ColumnFamily, ...]:
    match version:
        case "v1":
            return (_family(DEFAULT_FAMILY, (source.utf(), source.utf())),)
        case "v2":
            return (_family(DEFAULT_FAMILY, (_chunks(source), _chunks(source))),)
        case "v3":
            count = source.int32()
            if not 0 <= count <= _MOST_FAMILIES:
                raise BrokenBytesError(f"{count} column families make no sense")
            return tuple(_parse_family(source) for _ in range(count))
        case _:
            raise BrokenBytesError(f"it begins with {version[:40]!r}, not with v1, v2 or v3")


def _parse_family(source: ByteSource) -> ColumnFamily:
    name = source.utf()
    source.int16()
    key = _chunks(source)
    source.int16()
    value, encoder = _chunks(source), _chunks(source)
    _chunks(source)
    return _family(name, (key, value), encoder)


def _family(name: str, schemas: tuple[str, str], encoder: str | None = None) -> ColumnFamily:
    key, value = map(parse_json_object, schemas)
    encoding = None if encoder is None else parse_json_object(encoder)
    if key is None or value is None or (encoder is not None and encoding is None):
        raise BrokenBytesError(f"the schema of {name!r} is not JSON")
    return ColumnFamily(name=name, key=key, value=value, encoder=encoding)


def _chunks(source: ByteSource) -> str:
    count = source.int32()
    if not 0 <= count <= _MOST_FAMILIES:
        raise BrokenBytesError(f"a string in {count} pieces makes no sense")
    return "".join(source.utf() for _ in range(count))
