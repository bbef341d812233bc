"""The columns of a PostgreSQL table: their types, and how their values are ordered by bytes.

Spark orders and compares text by its bytes, and so does Delta. PostgreSQL does it as the column's
collation says: `citext` and collations that are not deterministic even take different texts for
equal ones. So the order of rows never follows a collation here. Types in which values with
different bytes are equal (`-0.0` and `0.0`) are named, so that a tie is broken by the text of the
row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.sinks.postgres import modifiers

if TYPE_CHECKING:
    import psycopg

_COLUMNS = """\
SELECT a.attname,
       CASE WHEN n.nspname = 'pg_catalog' OR t.typname = 'citext' THEN t.typname::text
            ELSE n.nspname || '.' || t.typname END,
       a.atttypmod, format_type(a.atttypid, a.atttypmod),
       a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' AS must_be_given,
       a.attgenerated <> '' AS is_generated, a.attidentity = 'a' AS is_identity,
       coalesce(c.collisdeterministic, true) AS is_deterministic,
       current_setting('server_encoding')
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_namespace n ON n.oid = t.typnamespace
LEFT JOIN pg_collation c ON c.oid = a.attcollation
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
"""
_TEXTS = ("text", "varchar", "name")
_WITHOUT_ORDER = ("json", "_json", "xml", "point")
_LOOSE = ("bpchar", "citext", "float4", "float8", "jsonb", "numeric")
"""Types in which values with different bytes can be equal."""
_UTF8 = ("UTF8", "SQL_ASCII")


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column of the table."""

    kind: str
    """`typname`; with its schema where it is not one of PostgreSQL's own."""
    modifier: int
    display_name: str
    must_be_given: bool = False
    is_generated: bool = False
    is_identity: bool = False
    """Whether it is GENERATED ALWAYS AS IDENTITY, which INSERT refuses and COPY takes."""
    is_deterministic: bool = True
    """Whether its collation takes only texts with the same bytes for equal."""
    encoding: str = "UTF8"
    """Of the database."""

    @property
    def has_order(self) -> bool:
        """Whether PostgreSQL can compare its values."""
        return self.kind not in _WITHOUT_ORDER

    @property
    def is_loose(self) -> bool:
        """Whether values with different bytes can be equal, whatever collation compares them."""
        kind = self.kind.removeprefix("_")
        is_rounded = kind == "numeric" and self.modifier != modifiers.NONE
        return kind in _LOOSE and not is_rounded

    @property
    def is_loose_text(self) -> bool:
        """Whether different texts can be equal."""
        return not self.is_deterministic or self.kind == "citext"

    @property
    def byte_order(self) -> str:
        """What orders its values as Spark does, by UTF-8, with `{}` for the value."""
        if self.kind == "bpchar":
            return "bpcharsend({})"  # as a bpchar or a text it would lose its spaces at the end
        if self.kind in (*_TEXTS, "citext") and self.encoding not in _UTF8:
            return "convert_to({}::text, 'UTF8')"
        if self.kind == "citext":
            return '{}::text COLLATE "C"'
        is_text = self.kind.removeprefix("_") in (*_TEXTS, "bpchar")
        return '{} COLLATE "C"' if is_text else "{}"


def read_columns(connection: psycopg.Connection, name: str) -> dict[str, Column]:
    """Return the columns of a table by their names."""
    return {
        column: Column(
            kind=kind,
            modifier=modifier,
            display_name=shown,
            must_be_given=must_be_given,
            is_generated=is_generated,
            is_identity=is_identity,
            is_deterministic=is_deterministic,
            encoding=encoding,
        )
        for (
            column,
            kind,
            modifier,
            shown,
            must_be_given,
            is_generated,
            is_identity,
            is_deterministic,
            encoding,
        ) in connection.execute(_COLUMNS, (name,)).fetchall()
    }
