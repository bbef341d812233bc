"""The columns that a Kafka record is made of, as Spark's own Kafka sink names them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

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


class Sent(NamedTuple):
    """One record, as a producer takes it."""

    value: bytes | str | None
    key: bytes | str | None
    partition: int
    headers: list[tuple[str, str | bytes | None]] | None


NO_PARTITION = -1
"""The key decides: `PARTITION_UA` of librdkafka."""


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


def records_of(batch: RecordBatch) -> Iterator[Sent]:
    """Yield the rows of a record batch as records."""
    columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
    none: Sequence[None] = (None,) * batch.num_rows
    partitions = columns.get("partition", none)
    headers = columns.get("headers", none)
    for value, key, partition, header in zip(
        columns["value"], columns.get("key", none), partitions, headers, strict=True
    ):
        yield Sent(
            value,
            key,
            NO_PARTITION if partition is None else partition,
            None if header is None else [(each["key"], each["value"]) for each in header],
        )
