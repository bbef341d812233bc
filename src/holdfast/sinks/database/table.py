"""The target table, held against the columns that a stream brings, before any batch is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.sinks.database.target import Column, Field, Found, Target
from holdfast.sinks.failures import TableError
from holdfast.spark.arrow import spark_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from holdfast.sinks.database.dialect import Dialect
    from holdfast.sinks.database.sink import Database


def check_table(
    dialect: Dialect, sink: Database, schema: pa.Schema, *, found: Found | None, is_merged: bool
) -> Target:
    """Hold a table against the Arrow schema of a stream.

    Args:
        dialect: Of the database.
        sink: The table, as it is named.
        schema: Of the stream.
        found: What the database says of it; None when there is none.
        is_merged: Whether the keys must be those of an index.

    Raises:
        TableError: A table, a column, a type or a key is missing or does not fit; it names the SQL.
    """
    check = _Check(dialect=dialect, table=sink.table, keys=tuple(sink.keys))
    if found is None:
        raise check.refuse("There is no such table.", check.create(schema))
    if found.problem is not None:
        raise check.refuse(found.problem, found.fix)
    fields = tuple(check.find_field(field, found) for field in schema)
    check.refuse_required(found, given=schema.names)
    check.refuse_missing((*sink.keys, *filter(None, [sink.sequence_by])), given=schema.names)
    if sink.keys and is_merged:
        fields = check.with_keys(fields, found)
        check.refuse_order(fields, sink.sequence_by)
    return Target(
        name=check.name,
        table=sink.table,
        display_name=f"the {dialect.product} table {found.place.removeprefix('main.')}",
        place=found.place,
        shape=tuple(found.columns[field.name] for field in fields),
        fields=fields,
        keys=tuple(sink.keys),
        sequence_by=sink.sequence_by,
    )


class _Check(msgspec.Struct, frozen=True, kw_only=True):
    """One table that is held against a stream."""

    dialect: Dialect
    table: str
    keys: tuple[str, ...]

    @property
    def name(self) -> str:
        """The table, quoted."""
        return self.dialect.quote_table(self.table)

    def refuse(self, why: str, sql: str) -> TableError:
        """Return the error, with the statement that changes it."""
        return TableError(self.table, why=why, sql=sql)

    def create(self, schema: pa.Schema) -> str:
        """Return a statement that makes the table."""
        quote = self.dialect.quote
        columns = [
            f"{quote(field.name)} {self.dialect.suggest_type(field.type) or '…'}"
            for field in schema
        ]
        if self.keys:
            columns.append(f"PRIMARY KEY ({', '.join(map(quote, self.keys))})")
        return f"CREATE TABLE {self.name} ({', '.join(columns)});"

    def find_field(self, field: pa.Field, found: Found) -> Field:
        """Return how a column of the stream is written."""
        brought, wanted = spark_type(field.type), self.dialect.suggest_type(field.type)
        column = found.columns.get(field.name)
        quoted = self.dialect.quote(field.name)
        if wanted is None:
            product = self.dialect.product
            why = f"The stream's column {field.name} ({brought}) has no type in {product}."
            raise self.refuse(why, f"-- select something else than {field.name}")
        if column is None:
            why = f"It has no column {field.name}, which the stream has as {brought}."
            raise self.refuse(why, self._altered(self.dialect.adds, quoted, wanted))
        known = self.dialect.find_field(field.name, field.type, column)
        if known is None:
            has = column.shown + (f" in {column.charset}" if column.charset else "")
            generated = ", and is generated" if column.is_generated else ""
            why = f"Its column {field.name} is {has}{generated}; in the stream it is {brought}."
            raise self.refuse(why, self._altered(self.dialect.retypes, quoted, wanted))
        return known

    def _altered(self, statement: str, quoted: str, kind: str) -> str:
        return statement.format(table=self.name, column=quoted, kind=kind)

    def refuse_required(self, found: Found, *, given: Sequence[str]) -> None:
        """Refuse columns that every row must have, and the stream does not."""
        for name, column in found.columns.items():
            if not column.has_default and name not in given:
                why = f"Its column {name} ({column.shown}) is NOT NULL, and the stream has none."
                raise self.refuse(why, f"-- give {name} a default")

    def refuse_missing(self, names: Sequence[str], *, given: Sequence[str]) -> None:
        """Refuse keys that the stream does not have."""
        for name in names:
            if name not in given:
                raise self.refuse(f"The stream has no column {name}.", "-- correct the keys")

    def with_keys(self, fields: tuple[Field, ...], found: Found) -> tuple[Field, ...]:
        """Return the fields, those of keys refusing what an index takes for another key.

        Raises:
            TableError: No unique index takes just these keys for equal that Spark does.
        """
        if frozenset(self.keys) not in found.uniques:
            listed = ", ".join(map(self.dialect.quote, self.keys))
            why = f"It has no unique index over just {', '.join(self.keys)}, compared by bytes."
            name = self.dialect.quote(f"{self.table.rpartition('.')[2]}_keys")
            raise self.refuse(why, f"CREATE UNIQUE INDEX {name} ON {self.name} ({listed});")
        return tuple(
            self._as_key(field, found.columns[field.name]) if field.name in self.keys else field
            for field in fields
        )

    def _as_key(self, field: Field, column: Column) -> Field:
        if field.is_inexact_key:
            why = f"Rows cannot be merged by {field.name}: {field.is_inexact_key}."
            sql = f"-- give {field.name} a type with exact values"
            if exact := self.dialect.exact_key(column):
                quoted = self.dialect.quote(field.name)
                sql = self._altered(self.dialect.retypes, quoted, exact)
            raise self.refuse(why, sql)
        return msgspec.structs.replace(field, checks=(*field.checks, *field.key_checks))

    def refuse_order(self, fields: tuple[Field, ...], sequence_by: str | None) -> None:
        """Refuse an order that the database does not share with Spark."""
        for field in fields:
            if field.name == sequence_by and field.other_order:
                why = f"Its column {field.name} {field.other_order}."
                raise self.refuse(why, "-- order by another column: sequence_by=")
