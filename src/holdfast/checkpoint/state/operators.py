r"""What an operator with state says of itself: `state/<operator>/_metadata/…`, Spark 4.0 and later.

Grammar, from Spark 4.3 `operators/stateful/…/OperatorStateMetadata.scala`: a versioned text.

    _metadata/metadata        v1, written once and never again
    _metadata/v2/<batch>      v2, one more at every start (transformWithState; joins of format 3, 4)

    v1
    {"operatorInfo":{"operatorId":0,"operatorName":"stateStoreSave"},
     "stateStoreInfo":[{"storeName":"default","numColsPrefixKey":0,"numPartitions":2}]}

v2 adds `stateSchemaFilePaths` (absolute, so they break when a checkpoint is moved) to every store,
and `operatorPropertiesJson`, JSON inside a string. `numPartitions` is as it was when the file was
written: offline repartitioning leaves v1 alone, so the offset entries know better.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.checkpoint.text import parse_json_object, parse_versioned
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId

NEWEST_OPERATOR_VERSION = 2


class StoreInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One store of an operator; the same in every partition."""

    name: str = msgspec.field(name="storeName")
    partitions: int = msgspec.field(name="numPartitions")
    prefix_columns: int = msgspec.field(name="numColsPrefixKey", default=0)
    schema_paths: tuple[str, ...] = msgspec.field(name="stateSchemaFilePaths", default=())
    """As they were when written: absolute URIs."""


class OperatorMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """What one file of operator metadata says."""

    path: str
    version: int
    batch_id: BatchId | None
    """The first batch of the start that wrote it; None in v1, which does not say."""
    operator_id: int
    name: str
    stores: tuple[StoreInfo, ...]
    properties: Mapping[str, object]
    """Of v2: time mode, output mode and state variables of transformWithState."""


class _Info(msgspec.Struct):
    operator_id: int = msgspec.field(name="operatorId")
    name: str = msgspec.field(name="operatorName")


class _Body(msgspec.Struct):
    info: _Info = msgspec.field(name="operatorInfo")
    stores: tuple[StoreInfo, ...] = msgspec.field(name="stateStoreInfo")
    properties: str = msgspec.field(name="operatorPropertiesJson", default="{}")


_DECODER = msgspec.json.Decoder(_Body)


def parse_operator_metadata(
    path: str, batch_id: BatchId | None, raw: bytes
) -> OperatorMetadata | Unparsed:
    """Read operator metadata, of v1 when `batch_id` is None."""
    text = parse_versioned(path, raw, newest=NEWEST_OPERATOR_VERSION)
    if isinstance(text, Unparsed):
        return text
    if len(text.lines) != 1:
        return Unparsed(path=path, reason=f"it has {len(text.lines) + 1} lines instead of 2")
    try:
        body = _DECODER.decode(text.lines[0])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return Unparsed(path=path, reason="line 2 does not describe an operator")
    properties = parse_json_object(body.properties)
    if properties is None:
        return Unparsed(path=path, reason="operatorPropertiesJson is not a JSON object")
    return OperatorMetadata(
        path=path,
        version=text.version,
        batch_id=batch_id,
        operator_id=body.info.operator_id,
        name=body.info.name,
        stores=body.stores,
        properties=properties,
    )
