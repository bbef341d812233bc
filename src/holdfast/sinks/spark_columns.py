"""The columns of a table that Spark writes, compared with those that a stream brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

LENGTHS = "__CHAR_VARCHAR_TYPE_STRING"
"""Where Spark keeps CHAR(n) and VARCHAR(n) of a column, whose type is then string."""


def without_lengths(schema: StructType) -> StructType:
    """Return a schema without CHAR(n) and VARCHAR(n): a table made of it takes texts as they are.

    Both come from a table that the stream reads; CHAR(n) would pad what is written.
    """
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [
            StructField(
                field.name,
                field.dataType,
                field.nullable,
                {name: value for name, value in field.metadata.items() if name != LENGTHS},
            )
            for field in schema
        ]
    )


def find_stricter(mine: Any, kept: Any, path: str, *, in_structs: bool) -> str | None:
    """Return the first nested value that is NOT NULL in the table and nullable in the stream.

    Args:
        mine: The stream's type.
        kept: The table's, which differs in nullability alone.
        path: Of the value with this type.
        in_structs: Whether fields of structs count; Delta checks those of appended rows itself.
    """
    found: list[tuple[StructField, StructField, str, bool]] = []
    match kept.typeName():
        case "array":
            is_open = mine.containsNull and not kept.containsNull
            found = [(mine.elementType, kept.elementType, f"{path}.element", is_open)]
        case "map":
            is_open = mine.valueContainsNull and not kept.valueContainsNull
            found = [
                (mine.keyType, kept.keyType, f"{path}.key", False),
                (mine.valueType, kept.valueType, f"{path}.value", is_open),
            ]
        case "struct":
            found = [
                (a.dataType, b.dataType, f"{path}.{b.name}", in_structs and a.nullable > b.nullable)
                for a, b in zip(mine, kept, strict=True)
            ]
        case _:
            pass
    # What is inside an array or a map, Delta does not check.
    inside = in_structs or kept.typeName() in ("array", "map")
    for a, b, place, is_open in found:
        deeper = place if is_open else find_stricter(a, b, place, in_structs=inside)
        if deeper is not None:
            return deeper
    return None
