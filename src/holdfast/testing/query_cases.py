"""The query that is to be started, as data of a rule's case; and the state of its checkpoint.

    state = { "0" = { key = ["a string"], value = ["sum long"] } }
    query.now = { operators = ["stateStoreSave"] }
    query.state = [{ key = ["a long"], value = ["sum long"] }]

A contract is written as the record has it; what is left out is empty. A column is its name and its
type, and `not null` where that is so: `"a string not null"`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping

import msgspec

from holdfast.evidence.query_to_start import QueryToStart
from holdfast.evidence.state_columns import Column, PlannedState, StoreColumns
from holdfast.record.contracts import Contract
from holdfast.spark_versions import parse_version

_REQUIRED = " not null"
_EMPTY: dict[str, object] = {
    "format": "holdfast.contract",
    "sources": [],
    "sinks": [],
    "output_mode": "append",
    "operators": [],
    "state_provider": "",
    "version": 3,
}


class StateCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The columns of an operator's state."""

    key: tuple[str, ...]
    value: tuple[str, ...] = ()
    name: str = "stateStoreSave"


class QueryCase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The query that is to be started."""

    now: Mapping[str, object] = msgspec.field(default_factory=dict)
    """Its contract."""
    before: Mapping[str, object] | None = None
    """That of the last run; by default it is unknown."""
    state: tuple[StateCase, ...] = ()
    spark: str = "4.2"


def make_query(case: QueryCase | None) -> QueryToStart | None:
    """Return what is known of the query of a case.

    Raises:
        ValueError: A contract or a version is not one.
    """
    if case is None:
        return None
    spark = parse_version(case.spark)
    if spark is None:
        raise ValueError(f"Spark {case.spark} is not known")
    return QueryToStart(
        now=_contract(case.now),
        before=None if case.before is None else _contract(case.before),
        state=tuple(_planned(each) for each in case.state),
        spark=spark,
    )


def _contract(given: Mapping[str, object]) -> Contract:
    return msgspec.convert({**_EMPTY, **given}, type=Contract)


def _planned(case: StateCase) -> PlannedState:
    columns = StoreColumns(key=_columns(case.key), value=_columns(case.value))
    return PlannedState(stores={"default": columns})


def _columns(texts: tuple[str, ...]) -> tuple[Column, ...]:
    named = (text.removesuffix(_REQUIRED).split(maxsplit=1) for text in texts)
    return tuple(
        Column(name=name, type=kind, nullable=not text.endswith(_REQUIRED))
        for (name, kind), text in zip(named, texts, strict=True)
    )


def state_files(state: Mapping[str, StateCase]) -> dict[str, bytes]:
    """Return the files that describe the state of a checkpoint, by operator."""
    files = {}
    for number, case in state.items():
        info = {"operatorId": int(number), "operatorName": case.name}
        store = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 1}
        body = json.dumps({"operatorInfo": info, "stateStoreInfo": [store]})
        files[f"state/{number}/_metadata/metadata"] = f"v1\n{body}".encode()
        schema = b"".join((_utf("v2"), _chunk(case.key), _chunk(case.value)))
        files[f"state/{number}/0/_metadata/schema"] = schema
    return files


def _chunk(texts: tuple[str, ...]) -> bytes:
    fields = [
        {"name": each.name, "type": each.type, "nullable": each.nullable, "metadata": {}}
        for each in _columns(texts)
    ]
    return struct.pack(">i", 1) + _utf(json.dumps({"type": "struct", "fields": fields}))


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()
