"""The target table, held against the columns that a stream brings, before any batch is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError
from holdfast.sinks.postgres.encode import Encoder
from holdfast.sinks.postgres.types import find_encoder, suggest_type

if TYPE_CHECKING:
    import psycopg

_COLUMNS = """\
SELECT a.attname, t.typname, format_type(a.atttypid, a.atttypmod),
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS must_be_given,
       a.attgenerated <> '' AS is_generated
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
"""
_TEXTS = ("text", "varchar", "bpchar")
_WITHOUT_ORDER = ("json", "_json", "xml", "point")
_UNIQUE = """\
SELECT array_agg(a.attname::text ORDER BY a.attname) FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
GROUP BY i.indexrelid
"""


class TableError(HoldfastError):
    """The table does not take what the stream brings; nothing was written."""

    code = "TABLE"

    def __init__(self, table: str, *, why: str, sql: str) -> None:
        self.table = table
        self.sql = sql
        super().__init__(
            what=f"The table {table} does not take this stream; nothing was written.",
            why=why,
            how=f"This would mend it:  {sql}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table, and how each column of the stream is written into it."""

    name: str
    """Quoted, and with its schema where it was given."""
    columns: tuple[str, ...]
    encoders: tuple[Encoder, ...]
    keys: tuple[str, ...] = ()
    sequence_by: str | None = None
    is_ordered: bool = True
    """Whether PostgreSQL can compare values of every column; of type json it cannot."""
    texts: frozenset[str] = frozenset()
    """The columns of text, which are compared byte by byte and not as a language has it."""

    @property
    def column_list(self) -> str:
        """The columns, quoted."""
        return ", ".join(map(quote, self.columns))


def quote(name: str) -> str:
    """Return an identifier that can be nothing else."""
    return '"' + name.replace('"', '""') + '"'


def quote_table(table: str) -> str:
    """Return a table's name, quoted part by part: `public.readings` has two."""
    return ".".join(map(quote, table.split(".", 1)))


def find_schema(df: Any, table: str) -> Any:
    """Return the Arrow schema in which the rows of a Spark DataFrame come.

    Raises:
        TableError: A column's type has no form in Arrow.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        return to_arrow_schema(df.schema, timezone="UTC")
    except PySparkException as error:
        raise TableError(
            table,
            why=f"A column of the stream has no form in PostgreSQL: {error}",
            sql="-- cast it to another type",
        ) from error


def check_table(
    connection: psycopg.Connection[Any],
    table: str,
    schema: Any,
    *,
    keys: Sequence[str] = (),
    sequence_by: str | None = None,
) -> Target:
    """Hold a table against the Arrow schema of a stream.

    Raises:
        TableError: A table, a column, a type or a key is missing or does not fit; it names the SQL.
    """
    name = quote_table(table)
    found = {row[0]: row[1:] for row in connection.execute(_COLUMNS, (name,)).fetchall()}
    if not found:
        raise TableError(table, why="There is no such table.", sql=_create(name, schema, keys))
    encoders = tuple(_check_column(table, field, found) for field in schema)
    given = {field.name for field in schema}
    for column, (_, shown, must_be_given, _) in found.items():
        if must_be_given and column not in given:
            sql = f"ALTER TABLE {name} ALTER COLUMN {quote(column)} DROP NOT NULL;"
            why = f"Its column {column} ({shown}) must not be NULL, and the stream has no such one."
            raise TableError(table, why=why, sql=sql)
    for key in (*keys, *([sequence_by] if sequence_by else [])):
        if key not in given:
            raise TableError(
                table, why=f"The stream has no column {key}.", sql="-- correct the keys"
            )
    _check_key(connection, table, keys=keys)
    return Target(
        name=name,
        columns=tuple(field.name for field in schema),
        encoders=encoders,
        keys=tuple(keys),
        sequence_by=sequence_by,
        is_ordered=not any(found[field.name][0] in _WITHOUT_ORDER for field in schema),
        texts=frozenset(field.name for field in schema if found[field.name][0] in _TEXTS),
    )


def _check_column(table: str, field: Any, found: dict[str, Any]) -> Encoder:
    name = quote_table(table)
    wanted = suggest_type(field.type)
    if field.name not in found:
        if wanted is None:
            why = f"The stream's column {field.name} ({field.type}) has no type in PostgreSQL."
            raise TableError(table, why=why, sql=f"-- select something else than {field.name}")
        sql = f"ALTER TABLE {name} ADD COLUMN {quote(field.name)} {wanted};"
        raise TableError(table, why=f"It has no column {field.name} ({field.type}).", sql=sql)
    kind, shown, _, is_generated = found[field.name]
    encoder = None if is_generated else find_encoder(field.type, kind)
    if encoder is None:
        why = f"Its column {field.name} is {shown}; the stream brings {field.type}."
        sql = f"ALTER TABLE {name} ALTER COLUMN {quote(field.name)} TYPE {wanted};"
        if wanted is None or is_generated:
            sql = f"-- select something else than {field.name}"
        raise TableError(table, why=why, sql=sql)
    return encoder


def _check_key(connection: psycopg.Connection[Any], table: str, *, keys: Sequence[str]) -> None:
    if not keys:
        return
    name = quote_table(table)
    unique = [set(row[0]) for row in connection.execute(_UNIQUE, (name,)).fetchall()]
    if set(keys) not in unique:
        columns = ", ".join(map(quote, keys))
        why = f"It has no unique index on exactly {', '.join(keys)}."
        raise TableError(table, why=why, sql=f"CREATE UNIQUE INDEX ON {name} ({columns});")


def _create(name: str, schema: Any, keys: Sequence[str]) -> str:
    columns = [f"{quote(field.name)} {suggest_type(field.type) or 'text'}" for field in schema]
    if keys:
        columns.append(f"PRIMARY KEY ({', '.join(map(quote, keys))})")
    return f"CREATE TABLE {name} ({', '.join(columns)});"
