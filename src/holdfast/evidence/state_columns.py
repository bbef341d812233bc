"""The columns of state, by name and order: what a checkpoint has, and what a query would bind.

Spark binds the columns of state by position. At a start it compares their types, in order, and
ignores their names. A column that cannot be NULL in the checkpoint must not become one that can
(Spark 3.5 to 4.3 `StateSchemaCompatibilityChecker.schemasCompatible`).
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state.read import DEFAULT_STORE, Operator
from holdfast.checkpoint.state.schema import DEFAULT_FAMILY, StateSchema

JOIN_VALUES = "-keyWithIndexToValue"
"""How the name of a store with the rows of one side of a join ends."""
_MATCHED = "matched"


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column of state."""

    name: str
    type: object
    """As the JSON of Spark's types has it."""
    nullable: bool | None = None
    """None when it is not known."""

    def __str__(self) -> str:
        return f"{self.name} {_shown(self.type)}"


Columns = tuple[Column, ...]


class StoreColumns(msgspec.Struct, frozen=True, kw_only=True):
    """The columns of one store."""

    key: Columns | None = None
    """None when it is not known, or says nothing."""
    value: Columns | None = None
    path: str = ""
    """The file that says so; empty for a query that is to be started."""


class PlannedState(msgspec.Struct, frozen=True, kw_only=True):
    """What one stateful operator of a query would bind to its state."""

    stores: Mapping[str, StoreColumns] = msgspec.field(default_factory=dict)
    """By the name of the store."""
    parts: tuple[str, ...] | None = None
    """What the columns are computed from, in their order: aggregate functions, pairs of join
    keys; None where the plan hides it."""
    printed: str | None = None
    """The same as Spark prints it in a plan, without the numbers of columns: to be compared with
    the event log; None where it is not known."""


class Differs(StrEnum):
    """How columns differ."""

    IN_TYPE = "type"
    """In number or type: Spark refuses them."""
    IN_NULLABILITY = "nullability"
    """A column can be NULL that cannot be in the checkpoint: Spark refuses it."""
    IN_ORDER = "order"
    """The same names and types, in another order: Spark does not see it."""
    IN_NAME = "name"
    """Other names for the same types: Spark does not see it."""


class StateChange(msgspec.Struct, frozen=True, kw_only=True):
    """How the columns of one store, or what they are computed from, differ."""

    operator_id: int
    operator: str
    part: str
    """`key` or `value`."""
    how: Differs
    before: tuple[str, ...]
    now: tuple[str, ...]
    follows_from: str
    places: tuple[str, ...] = ()
    """Of columns that can be NULL now, as a contract names them: `default key 0`."""


def columns_of(schema: Mapping[str, object]) -> Columns | None:
    """Return the columns of a struct, given as the JSON of Spark's types; None if it is none."""
    fields = schema.get("fields")
    if not isinstance(fields, list) or not all(isinstance(each, dict) for each in fields):
        return None
    return tuple(
        Column(
            name=str(each.get("name", "")), type=each.get("type", ""), nullable=each.get("nullable")
        )
        for each in fields
    )


def recorded_state(operator: Operator) -> Mapping[str, StoreColumns]:
    """Return the columns of an operator's stores, by store, as the checkpoint has them."""
    found: dict[str, StoreColumns] = {}
    for schema in operator.schemas:  # by path: of one store, the newest is last
        if not isinstance(schema, StateSchema):
            continue
        for family in schema.families:
            name = _store_of(schema.path) if family.name == DEFAULT_FAMILY else family.name
            value = columns_of(family.value) or ()
            if name.endswith(JOIN_VALUES):
                value = tuple(each for each in value if each.name != _MATCHED)
            columns = StoreColumns(key=columns_of(family.key), value=value, path=schema.path)
            found[name] = columns
    return found


def _store_of(path: str) -> str:
    """Return the store that a schema file describes: `state/0/0/left-…/_metadata/schema`."""
    parts = posixpath.dirname(path).split("/")
    if parts[-1] == "_metadata":
        return parts[3] if len(parts) > 4 else DEFAULT_STORE
    return parts[-1]


def find_changes(
    checkpoint: Checkpoint, planned: tuple[PlannedState | None, ...], names: tuple[str, ...]
) -> Iterator[StateChange]:
    """Yield how the columns that a query would bind differ from those in its checkpoint.

    Args:
        checkpoint: As read.
        planned: Of each operator of the query; None where that is not known.
        names: Of the operators.
    """
    for operator in checkpoint.state:
        number = operator.operator_id
        if number >= len(planned) or planned[number] is None:
            continue
        if operator.name not in (None, names[number]):
            continue  # operators that differ are found by name; Spark 3.5 writes none
        there = recorded_state(operator)
        for store, now in (planned[number] or PlannedState()).stores.items():
            before = there.get(store, StoreColumns())
            for part in ("key", "value"):
                old, new = getattr(before, part), getattr(now, part)
                how = None if old is None or new is None else _compare(old, new)
                change = StateChange(
                    operator_id=number,
                    operator=names[number],
                    part=part,
                    how=how or Differs.IN_NULLABILITY,
                    before=tuple(map(str, old or ())),
                    now=tuple(map(str, new or ())),
                    follows_from=before.path,
                )
                if how is not None:
                    yield change
                if how is not Differs.IN_TYPE:
                    yield from _compare_nulls(
                        change, f"{store} {part}", before=old or (), now=new or ()
                    )


def _compare_nulls(
    change: StateChange, place: str, *, before: Columns, now: Columns
) -> Iterator[StateChange]:
    """Yield the columns that cannot be NULL in the checkpoint, and can be in the query."""
    required = {where for where, is_null in _nulls(before) if is_null is False}
    grown = [where for where, is_null in _nulls(now) if is_null and where in required]
    numbers = sorted({int(where.partition(".")[0]) for where in grown})
    if grown:
        yield replace(
            change,
            how=Differs.IN_NULLABILITY,
            before=tuple(str(before[number]) for number in numbers),
            now=tuple(str(now[number]) for number in numbers),
            places=tuple(f"{place} {where}" for where in grown),
        )


def not_null_columns(planned: PlannedState) -> tuple[str, ...]:
    """Return the columns that a query would bind and that cannot be NULL: `default key 0`."""
    return tuple(
        f"{store} {part} {where}"
        for store, columns in sorted(planned.stores.items())
        for part, found in (("key", columns.key), ("value", columns.value))
        for where, is_null in _nulls(found or ())
        if is_null is False
    )


def _nulls(columns: Columns, above: str = "") -> Iterator[tuple[str, bool | None]]:
    """Yield each column, and what is inside of it, by its place, and whether it can be NULL."""
    for number, column in enumerate(columns):
        where = f"{above}{number}"
        yield where, column.nullable
        yield from _nulls_inside(column.type, where)


def _nulls_inside(kind: object, where: str) -> Iterator[tuple[str, bool | None]]:
    if not isinstance(kind, dict):
        return
    match kind.get("type"):
        case "struct":
            yield from _nulls(columns_of(kind) or (), f"{where}.")
        case "array":
            yield f"{where}.element", kind.get("containsNull")
            yield from _nulls_inside(kind.get("elementType"), f"{where}.element")
        case "map":
            yield f"{where}.value", kind.get("valueContainsNull")
            yield from _nulls_inside(kind.get("keyType"), f"{where}.key")
            yield from _nulls_inside(kind.get("valueType"), f"{where}.value")
        case "udt":
            yield from _nulls_inside(kind.get("sqlType"), where)
        case _:
            pass


def _compare(before: Columns, now: Columns) -> Differs | None:
    if [_shape(each.type) for each in before] != [_shape(each.type) for each in now]:
        return Differs.IN_TYPE
    return compare_names(
        tuple(_named(each) for each in before), tuple(_named(each) for each in now)
    )


def compare_names(before: tuple[str, ...], now: tuple[str, ...]) -> Differs | None:
    """Say how names differ, which Spark does not compare; None when they do not."""
    if before == now:
        return None
    return Differs.IN_ORDER if Counter(before) == Counter(now) else Differs.IN_NAME


def _named(column: Column) -> str:
    """Return a column's name, and the names inside of it."""
    return f"{column.name} {_shown(column.type)}" if isinstance(column.type, dict) else column.name


def _shape(kind: object) -> str:
    """Return a type without names and nullability: what Spark compares."""
    return _shown(kind, named=False)


def _shown(kind: object, *, named: bool = True) -> str:
    """Return a type as Spark writes it: `struct<start:timestamp,end:timestamp>`."""
    if not isinstance(kind, dict):
        return str(kind)
    match kind.get("type"):
        case "struct":
            found = columns_of(kind) or ()
            inside = (
                f"{each.name}:{_shown(each.type)}" if named else _shown(each.type, named=False)
                for each in found
            )
            return f"struct<{','.join(inside)}>"
        case "array":
            return f"array<{_shown(kind.get('elementType'), named=named)}>"
        case "map":
            both = (_shown(kind.get(each), named=named) for each in ("keyType", "valueType"))
            return f"map<{','.join(both)}>"
        case "udt":
            return _shown(kind.get("sqlType"), named=named)
        case _:
            return str(kind)
