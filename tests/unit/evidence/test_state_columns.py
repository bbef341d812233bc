"""The columns of state: how they are read, how they differ, and what cannot be compared."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from holdfast.checkpoint import read_checkpoint
from holdfast.checkpoint.read import read_checkpoint_near
from holdfast.checkpoint.state.read import Operator
from holdfast.checkpoint.state.schema import ColumnFamily, StateSchema
from holdfast.evidence.query_to_start import QueryToStart, find_unknown
from holdfast.evidence.state_columns import (
    Column,
    Differs,
    PlannedState,
    StoreColumns,
    columns_of,
    find_changes,
    not_null_columns,
    recorded_state,
)
from holdfast.ids import BatchId
from holdfast.storage.memory import MemoryStorage
from holdfast.testing.query_cases import QueryCase, StateCase, make_query, state_files

SAVE = "stateStoreSave"
WINDOW = {
    "type": "struct",
    "fields": [{"name": "start", "type": "timestamp"}, {"name": "end", "type": "timestamp"}],
}


def struct(**columns: Any) -> dict[str, Any]:
    fields = [{"name": name, "type": kind} for name, kind in columns.items()]
    return {"type": "struct", "fields": fields}


def operator(*schemas: StateSchema) -> Operator:
    return Operator(
        operator_id=0,
        metadata=(),
        schemas=schemas,
        stores=(),
        leftovers=(),
        lone_sidecars=(),
        foreign=(),
    )


def schema(path: str, family: str = "default", **value: Any) -> StateSchema:
    families = (ColumnFamily(name=family, key=struct(a="string"), value=struct(**value)),)
    return StateSchema(path=path, version=2, families=families)


@pytest.mark.parametrize(
    ("path", "family", "store"),
    [
        ("state/0/0/_metadata/schema", "default", "default"),
        ("state/0/0/left-keyToNumValues/_metadata/schema", "default", "left-keyToNumValues"),
        ("state/0/_stateSchema/default/0_f3", "counts", "counts"),
        ("state/0/_stateSchema/default/0_f3", "default", "default"),
    ],
)
def test_a_store_is_known_by_its_name(path: str, family: str, store: str) -> None:
    assert list(recorded_state(operator(schema(path, family, x="long")))) == [store]


def test_the_rows_of_a_join_are_without_sparks_own_mark() -> None:
    path = "state/0/0/left-keyWithIndexToValue/_metadata/schema"
    (found,) = recorded_state(operator(schema(path, x="long", matched="boolean"))).values()
    assert found.value == (Column(name="x", type="long"),)


@pytest.mark.parametrize(
    ("before", "now", "how"),
    [
        ({"a": "string", "b": "string"}, {"b": "string", "a": "string"}, Differs.IN_ORDER),
        ({"a": "string"}, {"z": "string"}, Differs.IN_NAME),
        ({"a": "string"}, {"a": "long"}, Differs.IN_TYPE),
        ({"a": "string"}, {"a": "string", "b": "string"}, Differs.IN_TYPE),
        ({"w": WINDOW}, {"w": struct(end="timestamp", start="timestamp")}, Differs.IN_NAME),
        ({"w": WINDOW}, {"w": struct(start="timestamp", end="date")}, Differs.IN_TYPE),
        (
            {"a": {"type": "array", "elementType": "string", "containsNull": True}},
            {"a": {"type": "array", "elementType": "long", "containsNull": True}},
            Differs.IN_TYPE,
        ),
        (
            {"m": {"type": "map", "keyType": "string", "valueType": "long"}},
            {"m": {"type": "map", "keyType": "string", "valueType": "string"}},
            Differs.IN_TYPE,
        ),
        ({"a": {"type": "udt", "sqlType": "long"}}, {"a": "long"}, Differs.IN_NAME),
        ({"a": "string"}, {"a": "string"}, None),
    ],
)
def test_columns_differ_in_what_spark_sees_or_does_not(
    before: dict[str, Any], now: dict[str, Any], how: Differs | None
) -> None:
    checkpoint = read_checkpoint(MemoryStorage(state_files({"0": StateCase(key=("a string",))})))
    there = replace(
        operator(schema("state/0/0/_metadata/schema", **before)),
        metadata=checkpoint.state[0].metadata,
    )
    columns = recorded_state(operator(schema("state/0/0/_metadata/schema", **now)))["default"]
    planned = (PlannedState(stores={"default": StoreColumns(value=columns.value)}),)
    changes = find_changes(replace(checkpoint, state=(there,)), planned, (SAVE,))
    assert [each.how for each in changes] == ([] if how is None else [how])


ENTRY = (
    b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,'
    b'"conf":{"spark.sql.shuffle.partitions":"200"}}\n5'
)
LOGS = {"metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}', "offsets/0": ENTRY}
STATE = state_files({"0": StateCase(key=("a string",), value=("sum long",))})
NOW = {"operators": [SAVE], "operator_parts": [["sum(x)"]]}
PLANNED = (StateCase(key=("a string",), value=("sum long",)),)


def unknown(files: dict[str, bytes], case: QueryCase) -> list[str]:
    query = make_query(case)
    assert isinstance(query, QueryToStart)
    return list(find_unknown(query, read_checkpoint(MemoryStorage(files))))


def test_nothing_is_unknown_when_all_was_compared() -> None:
    case = QueryCase(now=NOW, before=NOW, state=PLANNED)
    assert unknown({**LOGS, **STATE}, case) == []


def test_of_a_checkpoint_without_a_batch_nothing_is_asked() -> None:
    assert unknown({}, QueryCase(now=NOW)) == []


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (QueryCase(now=NOW, state=PLANNED), "No contract of a last run"),
        (
            QueryCase(now=NOW, before={"version": 2, "operators": [SAVE]}, state=PLANNED),
            "is of version 2",
        ),
        (QueryCase(now=NOW, before=NOW), "are not in the query's plan"),
    ],
)
def test_what_was_not_compared_is_said(case: QueryCase, said: str) -> None:
    (found,) = unknown({**LOGS, **STATE}, case)
    assert said in found


def test_the_columns_of_operators_that_spark_3_5_does_not_name_are_compared() -> None:
    files = {path: raw for path, raw in STATE.items() if "/_metadata/metadata" not in path}
    assert files.keys() < STATE.keys()
    unnamed = read_checkpoint(MemoryStorage({**LOGS, **files}))
    assert [each.name for each in unnamed.state] == [None]
    key = recorded_state(operator(schema("state/0/0/_metadata/schema", x="long")))["default"].value
    planned = (PlannedState(stores={"default": StoreColumns(key=key)}),)
    assert [each.how for each in find_changes(unnamed, planned, (SAVE,))] == [Differs.IN_TYPE]
    same = QueryCase(now=NOW, before=NOW, state=PLANNED)
    assert unknown({**LOGS, **files}, same) == []
    other = {**NOW, "operators": ["dedupe"]}
    (found,) = unknown({**LOGS, **files}, QueryCase(now=NOW, before=other, state=PLANNED))
    assert "1 stateful operator and does not name them" in found


def test_an_offset_entry_that_is_broken_is_unknown() -> None:
    case = QueryCase(now=NOW, before=NOW, state=PLANNED)
    (found,) = unknown({**LOGS, **STATE, "offsets/0": b"v1\nnothing"}, case)
    assert found.startswith("offsets/0 could not be read")


def test_a_schema_that_is_missing_or_broken_is_unknown() -> None:
    case = QueryCase(now=NOW, before=NOW, state=PLANNED)
    for raw in (b"", b"\x00\x02v9"):
        files = {**LOGS, **STATE, "state/0/0/_metadata/schema": raw}
        (found,) = unknown(files, case)
        assert "no readable state schema of operator 0" in found


def test_a_start_reads_the_schema_of_state_whose_files_it_does_not_look_at() -> None:
    found = read_checkpoint_near(MemoryStorage({**LOGS, **STATE}), BatchId(0))
    assert found.state_unread is not None
    assert recorded_state(found.state[0])["default"].key == (
        Column(name="a", type="string", nullable=True),
    )


@pytest.mark.parametrize("name", ["../../../secret", "a/b", "", "x" * 65])
def test_a_forged_name_of_a_store_is_not_followed(name: str) -> None:
    metadata = STATE["state/0/_metadata/metadata"].replace(b'"default"', f'"{name}"'.encode())
    files = {**LOGS, **STATE, "state/0/_metadata/metadata": metadata}
    found = read_checkpoint_near(MemoryStorage(files), BatchId(0))
    assert recorded_state(found.state[0]) == {}


def nested(*, column: bool, element: bool, inner: bool, value: bool) -> dict[str, Any]:
    """Return a struct with an array of structs and a map, whose parts can be NULL or not."""
    row = {"type": "struct", "fields": [{"name": "i", "type": "long", "nullable": inner}]}
    array = {"type": "array", "elementType": row, "containsNull": element}
    pairs = {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": value}
    fields = [
        {"name": "a", "type": array, "nullable": column},
        {"name": "m", "type": pairs, "nullable": True},
    ]
    return {"type": "struct", "fields": fields}


STRICT = {"column": False, "element": False, "inner": False, "value": False}
LOOSE = dict.fromkeys(STRICT, True)
PLACES = {
    "column": "default key 0",
    "element": "default key 0.element",
    "inner": "default key 0.element.0",
    "value": "default key 1.value",
}


def nulls_that_grow(before: dict[str, bool], now: dict[str, bool]) -> list[tuple[str, ...]]:
    key, family = columns_of(nested(**now)), nested(**before)
    recorded = StateSchema(
        path="state/0/0/_metadata/schema",
        version=2,
        families=(ColumnFamily(name="default", key=family, value=struct()),),
    )
    files = {**LOGS, **state_files({"0": StateCase(key=("a string",))})}
    checkpoint = read_checkpoint(MemoryStorage(files))
    state = (replace(checkpoint.state[0], schemas=(recorded,)),)
    planned = (PlannedState(stores={"default": StoreColumns(key=key)}),)
    found = find_changes(replace(checkpoint, state=state), planned, (SAVE,))
    return [each.places for each in found if each.how is Differs.IN_NULLABILITY]


@pytest.mark.parametrize("part", STRICT)
def test_a_part_of_a_column_that_can_be_null_now_is_found(part: str) -> None:
    assert nulls_that_grow(STRICT, {**STRICT, part: True}) == [(PLACES[part],)]


@pytest.mark.parametrize("part", STRICT)
def test_a_part_of_a_column_that_cannot_be_null_any_more_is_taken(part: str) -> None:
    assert nulls_that_grow(LOOSE, {**LOOSE, part: False}) == []


def test_columns_that_cannot_be_null_are_named_by_their_place() -> None:
    columns = StoreColumns(key=columns_of(nested(**STRICT)), value=columns_of(nested(**LOOSE)))
    assert not_null_columns(PlannedState(stores={"default": columns})) == tuple(PLACES.values())


def test_what_can_be_null_and_was_not_recorded_is_unknown() -> None:
    case = StateCase(key=("a string not null",))
    files = {**LOGS, **state_files({"0": case})}
    before = {"operators": [SAVE], "version": 4}
    query = make_query(
        QueryCase(
            now={"operators": [SAVE], "version": 5, "operator_not_null": [[]]},
            before=before,
            state=(StateCase(key=("a string",)),),
        )
    )
    assert query is not None
    (said,) = find_unknown(query, read_checkpoint(MemoryStorage(files)))
    assert said.startswith(
        "Columns of the state key of operator 0 (stateStoreSave) can be NULL in the query's plan "
        "and not in the checkpoint: a string."
    )
    recorded = make_query(
        QueryCase(
            now={"operators": [SAVE], "version": 5, "operator_not_null": [[]]},
            before={**before, "version": 5, "operator_not_null": [[]]},
            state=(StateCase(key=("a string",)),),
        )
    )
    assert recorded is not None
    assert tuple(find_unknown(recorded, read_checkpoint(MemoryStorage(files)))) == ()
