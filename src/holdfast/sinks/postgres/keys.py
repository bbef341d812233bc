"""The unique index by which rows are merged: which one it is, and which keys it takes for equal.

`ON CONFLICT (keys)` uses every unique index on exactly these columns, whatever its collation. What
is equal inside a batch must be what is equal for the index; otherwise the outcome depends on how
rows fall into batches. Columns of `INCLUDE` are no keys. Partial, expression and invalid indexes
do not take part. A deferrable one does, and PostgreSQL then refuses every batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from holdfast.sinks.failures import TableError
from holdfast.sinks.postgres.columns import Column
from holdfast.sinks.postgres.target import Key, quote

if TYPE_CHECKING:
    import psycopg

_UNIQUE = """\
SELECT x.relname::text, i.indimmediate,
    EXISTS (SELECT FROM pg_constraint c
        WHERE c.conindid = i.indexrelid AND c.conrelid = i.indrelid),
    array_agg(a.attname::text ORDER BY p.place),
    array_agg(CASE WHEN NOT l.collisdeterministic
        THEN quote_ident(n.nspname) || '.' || quote_ident(l.collname) END ORDER BY p.place),
    bool_and(o.opcdefault OR o.opcname IN (
        'text_pattern_ops', 'varchar_pattern_ops', 'bpchar_pattern_ops', 'varchar_ops'))
FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
CROSS JOIN LATERAL generate_series(0, i.indnkeyatts - 1) AS p(place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[p.place]
JOIN pg_opclass o ON o.oid = i.indclass[p.place]
LEFT JOIN pg_collation l ON l.oid = i.indcollation[p.place]
LEFT JOIN pg_namespace n ON n.oid = l.collnamespace
WHERE i.indrelid = to_regclass(%s) AND i.indisunique AND i.indisvalid
  AND i.indpred IS NULL AND i.indexprs IS NULL
GROUP BY i.indexrelid, i.indrelid, i.indimmediate, x.relname
"""


class _Index(msgspec.Struct, frozen=True, kw_only=True):
    """A unique index on exactly the keys."""

    name: str
    is_immediate: bool
    is_constraint: bool
    collations: Mapping[str, str | None]
    """Of each key, the collation that takes different texts for equal; None if it has none."""
    is_common: bool
    """Whether it compares values as PostgreSQL's own operators do."""

    def drop(self, table: str) -> str:
        """Return the statement that drops it."""
        if self.is_constraint:
            return f"ALTER TABLE {table} DROP CONSTRAINT {quote(self.name)};"
        return f"DROP INDEX {quote(self.name)};"


def check_merge(
    connection: psycopg.Connection,
    columns: Mapping[str, Column],
    keys: Sequence[str],
    *,
    table: str,
    name: str,
) -> tuple[Key, ...]:
    """Return the keys with what their unique index takes for equal.

    Raises:
        TableError: There is no such index, or PostgreSQL could not merge by it.
    """
    found = [
        _Index(
            name=index,
            is_immediate=is_immediate,
            is_constraint=is_constraint,
            collations=dict(zip(names, collations, strict=True)),
            is_common=is_common,
        )
        for index, is_immediate, is_constraint, names, collations, is_common in connection.execute(
            _UNIQUE, (name,)
        ).fetchall()
    ]
    usable = [index for index in found if set(index.collations) == set(keys)]
    create = f"CREATE UNIQUE INDEX ON {name} ({', '.join(map(quote, keys))});"
    if not usable:
        why = f"It has no unique index on exactly {', '.join(keys)}."
        raise TableError(table, why=why, sql=create)
    for index in usable:
        _check_index(index, display_name=table, name=name, create=create)
    _check_agreement(usable, display_name=table, name=name)
    return tuple(_key(column, columns[column], usable[0]) for column in keys)


def _check_index(index: _Index, *, display_name: str, name: str, create: str) -> None:
    why = None
    if not index.is_immediate:
        why = "is deferrable, and PostgreSQL does not merge by such a one"
    elif not index.is_common:
        why = "has an operator class of its own, so which keys are equal is not known"
    if why is not None:
        sql = f"{index.drop(name)} {create}"
        raise TableError(display_name, why=f"Its unique index {index.name} {why}.", sql=sql)


def _check_agreement(usable: Sequence[_Index], *, display_name: str, name: str) -> None:
    first = usable[0]
    for other in usable[1:]:
        if other.collations != first.collations:
            why = f"Its unique indexes {first.name} and {other.name} take other keys for equal."
            raise TableError(
                display_name, why=why, sql=f"{other.drop(name)}  -- or {first.drop(name)}"
            )


def _key(name: str, column: Column, index: _Index) -> Key:
    collation = index.collations[name]
    equal_by = collation
    if collation is None and not column.is_deterministic:
        equal_by = '"C"'
    return Key(
        name=name,
        equal_by=equal_by,
        conflict_by=collation,
        is_loose=collation is not None or column.is_loose,
    )
