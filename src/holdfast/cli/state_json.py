"""`holdfast state --format json`: the same answer for programs.

The schema is committed as docs/reference/state.schema.json.
"""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state.unsafe_row import NotDecoded
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.cli.state_text import choose_rows, say_state, spark_reader
from holdfast.cli.state_value import json_value
from holdfast.evidence.state import provider_of
from holdfast.evidence.state_rows import FoundRow, Growth, OperatorRows, PartitionRows, StateRows
from holdfast.report.envelope import Answer, render


class StatePartitionJson(msgspec.Struct):
    """One partition; `rows` is null when they are not known, and `why_not` says why."""

    partition: int
    rows: int | None
    why_not: str | None
    size_bytes: int


class StateStoreJson(msgspec.Struct):
    """One store of an operator, in all partitions."""

    operator_id: int
    name: str | None
    store: str
    provider: str | None
    rows: int
    is_counted: bool
    size_bytes: int
    partitions: tuple[StatePartitionJson, ...]
    largest_partition: int | None
    largest_share: float | None
    is_skewed: bool
    versions: tuple[Growth, ...]
    not_decoded: str | None


class StateRowJson(msgspec.Struct):
    """One row. What is not decoded is an object whose only field is `not_decoded`."""

    operator_id: int
    store: str
    partition: int
    key: Any
    value: Any
    since_version: int | None
    """Null of an example."""
    or_earlier: bool
    key_bytes: int
    value_bytes: int


class StateJson(Answer, kw_only=True, tag_field="format", tag="holdfast.state"):
    """What `holdfast state` found."""

    version: int = 2
    location: str
    summary: str
    state_version: int
    """The version of the state that was read."""
    rows: int
    is_counted: bool
    keys: tuple[str, ...]
    matching: int | None
    """Null when no key was asked for."""
    is_searched: bool
    stores: tuple[StateStoreJson, ...]
    found: tuple[StateRowJson, ...]
    missing: tuple[str, ...]
    damaged: tuple[Unparsed, ...]
    spark_reader: tuple[str, ...]


def render_state_json(checkpoint: Checkpoint, found: StateRows) -> str:
    """Return the text to print."""
    asked = found.question.conditions
    answer = StateJson(
        location=str(checkpoint.location),
        summary=say_state(checkpoint, found),
        state_version=found.version,
        rows=found.rows,
        is_counted=not found.uncounted and not found.absent,
        keys=tuple(each.typed for each in asked),
        matching=found.matching if asked else None,
        is_searched=not found.unsearched and not found.absent,
        stores=tuple(map(_store, found.stores)),
        found=tuple(map(_row, choose_rows(found))),
        missing=found.absent,
        damaged=found.damaged,
        spark_reader=tuple(line.strip() for line in spark_reader(checkpoint, found)[1:]),
    )
    return render(answer)


def _store(found: OperatorRows) -> StateStoreJson:
    largest = found.largest
    return StateStoreJson(
        operator_id=found.operator.operator_id,
        name=found.operator.name,
        store=found.store,
        provider=provider_of(found.operator),
        rows=found.rows,
        is_counted=found.is_counted,
        size_bytes=found.size_bytes,
        partitions=tuple(map(_partition, found.partitions)),
        largest_partition=None if largest is None else largest[0],
        largest_share=None if largest is None else round(largest[1], 4),
        is_skewed=found.is_skewed,
        versions=found.growth,
        not_decoded=found.codec.what if isinstance(found.codec, NotDecoded) else None,
    )


def _partition(part: PartitionRows) -> StatePartitionJson:
    rows = part.scan.rows
    if isinstance(rows, int):
        why = None
    else:
        why = f"{rows.path}: {rows.reason}" if isinstance(rows, Unparsed) else rows.why
    return StatePartitionJson(
        partition=part.store.partition,
        rows=rows if isinstance(rows, int) else None,
        why_not=why,
        size_bytes=part.store.size_bytes,
    )


def _row(row: FoundRow) -> StateRowJson:
    return StateRowJson(
        operator_id=row.operator_id,
        store=row.store,
        partition=row.partition,
        key=json_value(row.key),
        value=json_value(row.value),
        since_version=row.since,
        or_earlier=row.is_older,
        key_bytes=row.key_bytes,
        value_bytes=row.value_bytes,
    )
