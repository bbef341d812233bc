"""The columns that a Kafka record is made of, as Spark's own Kafka sink names them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict

from holdfast.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from holdfast.spark.arrow import RecordBatch

_BYTES = ("string", "binary")
_TYPES: Mapping[str, tuple[str, ...]] = {
    "key": _BYTES,
    "value": _BYTES,
    "headers": ("array<struct<key:string,value:binary>>",),
    "partition": ("int",),
}


class Message(TypedDict, total=False):
    """One record, as a producer takes it."""

    value: bytes | None
    key: bytes | None
    partition: int
    headers: list[tuple[str, str | bytes | None]]


def check_columns(schema: StructType, shown: str) -> None:
    """See that every column goes into a record, and nothing is left out.

    Raises:
        ConfigError: A column is missing, of another type, or has no place in a record.
    """
    found = {field.name: field.dataType.simpleString() for field in schema.fields}
    if "topic" in found:
        raise ConfigError(
            f"The stream has a column topic, and {shown} is the only topic that is written to. "
            "Drop the column; for several topics, pass one hf.Kafka for each in into=[…]."
        )
    if "value" not in found:
        raise ConfigError(
            f"The stream has no column value for {shown}. Select one, for example: "
            'to_json(struct("*")) as value.'
        )
    for name, kind in found.items():
        if name not in _TYPES:
            raise ConfigError(
                f"The column {name} has no place in a record of {shown}: it takes "
                f"{', '.join(_TYPES)}. Put it into value, or drop it."
            )
        if kind not in _TYPES[name]:
            raise ConfigError(
                f"The column {name} for {shown} is {kind}; it must be {' or '.join(_TYPES[name])}."
            )


def messages_of(batch: RecordBatch) -> list[Message]:
    """Return the rows of a record batch as messages, in their order.

    Text is taken as the bytes that Spark has, without a look at each character.
    """
    import pyarrow as pa

    names = batch.schema.names
    columns = {
        name: batch.column(name).cast(pa.binary()).to_pylist()
        for name in ("value", "key")
        if name in names
    }
    values = columns["value"]
    messages: list[Message] = (
        [{"value": value, "key": key} for value, key in zip(values, columns["key"], strict=True)]
        if "key" in columns
        else [{"value": value} for value in values]
    )
    if "partition" in names:
        for message, partition in zip(messages, batch.column("partition").to_pylist(), strict=True):
            if partition is not None:
                message["partition"] = partition
    if "headers" in names:
        for message, headers in zip(messages, batch.column("headers").to_pylist(), strict=True):
            if headers:
                message["headers"] = [(each["key"], each["value"]) for each in headers]
    return messages


def find_bad_header(batch: RecordBatch) -> str | None:
    """Say which header of a record batch Kafka has no form for; None if there is none."""
    import pyarrow.compute as pc

    column = batch.column("headers") if "headers" in batch.schema.names else None
    if column is None or column.null_count == len(column):
        return None
    headers = column.flatten()
    if headers.null_count:
        return "a header is NULL"
    return "a header has no name" if pc.struct_field(headers, "key").null_count else None


def partitions_of(batch: RecordBatch) -> set[int]:
    """Return the partitions that rows of a record batch name."""
    if "partition" not in batch.schema.names:
        return set()
    return {each for each in batch.column("partition").unique().to_pylist() if each is not None}
