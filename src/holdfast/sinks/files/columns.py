"""Whether files of a format can hold the columns of a stream, and give the same values back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from holdfast.errors import ConfigError
from holdfast.sinks.files.layout import COLUMN

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

    from holdfast.sinks.files.sink import Files

_PARTITIONS = ("string", "tinyint", "smallint", "int", "bigint", "date")
"""Types whose values a directory's name gives back as they were."""
_SIMPLE = (*_PARTITIONS, "boolean", "float", "double", "decimal", "timestamp", "timestamp_ntz")
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "csv": _SIMPLE,
    "json": (*_SIMPLE, "binary", "array", "struct"),
}
"""What files of text can hold; maps become objects, whose keys JSON takes once only."""


def check_columns(schema: StructType, sink: Files) -> None:
    """See that every column can be written, and read back as it was.

    Raises:
        ConfigError: One cannot, or the columns to partition by are none of the stream's.
    """
    kinds = columns_of(schema)
    if COLUMN in {name.lower() for name in kinds}:
        raise ConfigError(
            f"The stream has a column {COLUMN}, which {sink.display_name} has already: it names "
            "the batch. Rename yours."
        )
    _check_partitions(kinds, sink)
    if sink.format == "csv" and len(set(kinds) - set(sink.partition_by)) == 1:
        raise ConfigError(
            f"The files in {sink.path} would have one column, and a row whose only value is NULL "
            "is no line of CSV: it would be lost. Add a column, or use Parquet or JSON."
        )
    allowed = _TEXTS.get(sink.format)
    if allowed is None:
        return
    for field in schema.fields:
        for kind in _names(field.dataType):
            if kind.partition("(")[0] not in allowed:
                raise ConfigError(
                    f"The column {field.name} is {field.dataType.simpleString()}, which files of "
                    f"{sink.format} do not give back as it was. Cast it, or use Parquet."
                )


def _check_partitions(kinds: Mapping[str, str], sink: Files) -> None:
    for name in sink.partition_by:
        if name not in kinds:
            raise ConfigError(f"partition_by= names {name!r}, which is no column of the stream.")
        if kinds[name] not in _PARTITIONS:
            raise ConfigError(
                f"The column {name} is {kinds[name]}; partition_by= takes "
                f"{', '.join(_PARTITIONS)}: the name of a directory keeps nothing else exactly."
            )
    if len(set(sink.partition_by)) != len(sink.partition_by):
        raise ConfigError("partition_by= names a column twice.")
    if kinds and not set(kinds) - set(sink.partition_by):
        raise ConfigError("partition_by= names every column: no file would have one.")


def columns_of(schema: StructType) -> dict[str, str]:
    """Return the columns and their types, as Spark names them."""
    return {field.name: field.dataType.simpleString() for field in schema.fields}


def find_other_columns(found: Mapping[str, str], brought: Mapping[str, str]) -> str | None:
    """Say which column of the files a stream brings no more, or with another type.

    Args:
        found: The columns of the files.
        brought: Those of the stream.
    """
    for name, kind in found.items():
        if name not in brought:
            return f"its files have a column {name} ({kind}), and the stream has none"
        if brought[name] != kind:
            return f"its files have {name} as {kind}, and the stream brings {brought[name]}"
    return None


def _names(kind: DataType) -> Iterator[str]:
    """Yield the name of a type and of those in it."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, StructType):
        yield kind.typeName()
        for each in kind.fields:
            yield from _names(each.dataType)
    elif isinstance(kind, ArrayType):
        yield kind.typeName()
        yield from _names(kind.elementType)
    else:
        yield kind.typeName() if isinstance(kind, MapType) else kind.simpleString()
