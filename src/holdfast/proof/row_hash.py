"""A hash of a whole row, of 128 bits, that differs wherever the row does.

Spark's `xxhash64` alone does not: it skips NULL, so that `(NULL, 1)` and `(1, NULL)` have one hash;
it knows no difference between 0.0 and -0.0, nor where one array ends and the next begins; and it
refuses maps. So every value is hashed with whether it is NULL, arrays with their size, maps by
their sorted entries, and zeros with their sign. NaN is one value, whatever its bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

SALTS = (1, 2)
"""One per half of the hash."""
_NOT_COMPARED = ("variant", "geometry", "geography", "void")


def unhashable(df: DataFrame) -> tuple[str, ...]:
    """Return the columns whose values cannot be compared exactly."""
    kinds = ((field.name, field.dataType.simpleString()) for field in df.schema)
    return tuple(name for name, kind in kinds if any(word in kind for word in _NOT_COMPARED))


def row_hash(df: DataFrame, columns: Sequence[str], *, salt: int) -> Column:
    """Return one half of the hash of some columns of a row."""
    from pyspark.sql import functions as F

    fields = {field.name: field for field in df.schema}
    parts = (_parts(F.col(quoted(name)), fields[name], salt=salt) for name in columns)
    return F.xxhash64(F.lit(salt), *(part for each in parts for part in each))


def quoted(name: str) -> str:
    """Return the name of a column that can be nothing else."""
    return "`" + name.replace("`", "``") + "`"


def _parts(column: Column, field: StructField, *, salt: int) -> Iterable[Column]:
    yield from _values(column, field.dataType, salt=salt)
    # Also where the column cannot hold NULL: in the other table it may.
    yield column.isNull()


def _values(column: Column, kind: Any, *, salt: int) -> Iterable[Column]:
    """Yield what is hashed of a value, which tells it from every other one of its type."""
    from pyspark.sql import functions as F

    match kind.typeName():
        case "struct":
            for field in kind.fields:
                yield from _parts(column.getField(field.name), field, salt=salt)
        case "array":
            yield F.transform(column, lambda each: _inner(each, kind.elementType, salt=salt))
            yield F.size(column)
        case "map":
            entries = F.map_entries(column)
            hashes = F.transform(entries, lambda entry: _entry(entry, kind, salt=salt))
            yield F.array_sort(hashes)
            yield F.size(column)
        case "float" | "double":
            yield column
            yield F.when(column == 0, column.cast("string"))
        case "string" | "char" | "varchar":
            yield column.cast("binary")  # whatever its collation takes for equal
        case _:
            yield column


def _inner(column: Column, kind: Any, *, salt: int) -> Column:
    from pyspark.sql import functions as F

    return F.xxhash64(F.lit(salt), *_values(column, kind, salt=salt), column.isNull())


def _entry(entry: Column, kind: Any, *, salt: int) -> Column:
    from pyspark.sql import functions as F

    key = _inner(entry.getField("key"), kind.keyType, salt=salt)
    return F.xxhash64(key, _inner(entry.getField("value"), kind.valueType, salt=salt))
