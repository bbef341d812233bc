"""How the rows of a store are encoded, and what decodes them.

HDFS-backed: a key and a value are each an `UnsafeRow`. RocksDB, from Spark 4.3
`state/RocksDBStateEncoder.scala`:

    00 · UnsafeRow                                                 a value, and most keys
    int32 LE length · 00 · UnsafeRow of the prefix · 00 · UnsafeRow of the rest    a prefix key

Not decoded, and said by name: column families (`transformWithState`, joins from format 3 on), Avro
rows, rows with checksums. The settings that say so are pinned in the offset entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec

from holdfast.checkpoint.state.operators import OperatorMetadata
from holdfast.checkpoint.state.read import DEFAULT_STORE, Operator, Store
from holdfast.checkpoint.state.schema import ColumnFamily, StateSchema
from holdfast.checkpoint.state.unsafe_row import (
    Fields,
    NotDecoded,
    RowDecoder,
    leaf_types,
    make_decoder,
)
from holdfast.checkpoint.unparsed import Unparsed

_ENCODING = "spark.sql.streaming.stateStore.encodingFormat"
_CHECKSUMS = "spark.sql.streaming.stateStore.rowChecksum.enabled"
_VERSION = 0
_WITH_FAMILIES = 3


class RowCodec(msgspec.Struct, frozen=True, kw_only=True):
    """What decodes the rows of a store."""

    key: RowDecoder
    value: RowDecoder
    key_types: tuple[tuple[str, str], ...]
    """Name and type of every column of the key; the names of those inside structs have dots."""


def has_families(operator: Operator) -> bool:
    """Return whether the stores of an operator have several column families."""
    schemas = [each for each in operator.schemas if isinstance(each, StateSchema)]
    return any(each.version >= _WITH_FAMILIES for each in schemas)


def find_codec(
    operator: Operator, store: Store, conf: Mapping[str, str], *, is_rocksdb: bool
) -> RowCodec | NotDecoded:
    """Return what decodes the rows of a store, or the name of what stands against it.

    Args:
        operator: Whose store it is.
        store: In any partition.
        conf: The settings that the newest offset entry pins.
        is_rocksdb: Which provider has written it.
    """
    family = _not_read(operator, conf) or _find_schema(operator, store)
    if isinstance(family, NotDecoded):
        return family
    value = make_decoder(family.value)
    key = _rocks_key(operator, store, family.key) if is_rocksdb else make_decoder(family.key)
    if isinstance(key, NotDecoded) or isinstance(value, NotDecoded):
        return key if isinstance(key, NotDecoded) else NotDecoded("a value without a struct")
    kinds = tuple(leaf_types(family.key))
    if is_rocksdb:
        return RowCodec(key=key, value=partial(_versioned, value), key_types=kinds)
    whole = partial(_whole_words, key), partial(_whole_words, value)
    return RowCodec(key=whole[0], value=whole[1], key_types=kinds)


def _not_read(operator: Operator, conf: Mapping[str, str]) -> NotDecoded | None:
    """Return the encoding that is not read here, if it is one."""
    if has_families(operator):
        return NotDecoded(f"column families ({operator.name or 'unknown operator'})")
    if conf.get(_ENCODING, "").lower() == "avro":
        return NotDecoded("rows in Avro")
    if conf.get(_CHECKSUMS, "").lower() == "true":
        return NotDecoded("rows with checksums")
    return None


def _find_schema(operator: Operator, store: Store) -> ColumnFamily | NotDecoded:
    below = "" if store.name == DEFAULT_STORE else f"{store.name}/"
    path = f"state/{operator.operator_id}/0/{below}_metadata/schema"
    found = next((each for each in operator.schemas if each.path == path), None)
    if found is None:
        return NotDecoded(f"rows without a schema: {path} is not there")
    if isinstance(found, Unparsed):
        return NotDecoded(f"rows without a schema: {path}: {found.reason}")
    return found.families[0]


def _whole_words(decode: RowDecoder, raw: bytes) -> Fields | NotDecoded:
    """Decode a row of the HDFS-backed provider, which can have up to 7 bytes too many."""
    return decode(raw[: len(raw) // 8 * 8])


def _versioned(decode: RowDecoder, raw: bytes) -> Fields | NotDecoded:
    if not raw or raw[0] != _VERSION:
        return NotDecoded("an encoding of RocksDB rows that is not version 0")
    return decode(raw[1:])


def _rocks_key(
    operator: Operator, store: Store, schema: Mapping[str, object]
) -> RowDecoder | NotDecoded:
    newest = operator.metadata[-1] if operator.metadata else None
    stores = newest.stores if isinstance(newest, OperatorMetadata) else ()
    prefix = next((each.prefix_columns for each in stores if each.name == store.name), 0)
    fields = schema.get("fields")
    if not prefix or not isinstance(fields, list):
        decode = make_decoder(schema)
        return decode if isinstance(decode, NotDecoded) else partial(_plain_key, decode)
    first, rest = (
        make_decoder({"fields": fields[:prefix]}),
        make_decoder({"fields": fields[prefix:]}),
    )
    if isinstance(first, NotDecoded):
        return first
    return rest if isinstance(rest, NotDecoded) else partial(_prefix_key, first, rest)


def _plain_key(decode: RowDecoder, raw: bytes) -> Fields | NotDecoded:
    if raw[:1] != b"\0":
        return NotDecoded("a key with a prefix of unknown length")
    return decode(raw[1:])


def _prefix_key(first: RowDecoder, rest: RowDecoder, raw: bytes) -> Fields | NotDecoded:
    length = int.from_bytes(raw[:4], "little")
    one, two = _versioned(first, raw[4 : 4 + length]), _versioned(rest, raw[4 + length :])
    if isinstance(one, NotDecoded):
        return one
    return two if isinstance(two, NotDecoded) else Fields(one.items + two.items)
