"""`holdfast state --format json`: the same answer for programs."""

from __future__ import annotations

import msgspec

from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state.unsafe_row import NotDecoded
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.cli.inspect_form import UnparsedJson
from holdfast.cli.state_form import (
    StateJson,
    StatePartitionJson,
    StateRowJson,
    StateStoreJson,
    StateVersionJson,
)
from holdfast.cli.state_text import choose_rows, say_state, spark_reader
from holdfast.cli.state_value import clean_text, json_value
from holdfast.evidence.state import provider_of
from holdfast.evidence.state_rows import FoundRow, OperatorRows, PartitionRows, StateRows
from holdfast.redact import redact
from holdfast.version import __version__


def render_state_json(checkpoint: Checkpoint, found: StateRows) -> str:
    """Return the text to print."""
    asked = found.question.conditions
    form = StateJson(
        holdfast=__version__,
        location=_say(str(checkpoint.location)),
        summary=_say(say_state(checkpoint, found)),
        version=found.version,
        rows=found.rows,
        is_counted=not found.uncounted and not found.absent,
        keys=tuple(_say(each.typed) for each in asked),
        matching=found.matching if asked else None,
        is_searched=not found.unsearched and not found.absent,
        stores=tuple(map(_store, found.stores)),
        found=tuple(map(_row, choose_rows(found))),
        missing=tuple(map(_say, found.absent)),
        damaged=tuple(
            UnparsedJson(path=_say(each.path), reason=_say(each.reason), unread=each.unread)
            for each in found.damaged
        ),
        spark_reader=tuple(_say(line.strip()) for line in spark_reader(checkpoint, found)[1:]),
    )
    return msgspec.json.format(msgspec.json.encode(form), indent=2).decode()


def _say(text: str) -> str:
    return clean_text(redact(text))


def _store(found: OperatorRows) -> StateStoreJson:
    largest = found.largest
    return StateStoreJson(
        operator_id=found.operator.operator_id,
        name=found.operator.name,
        store=_say(found.store),
        provider=provider_of(found.operator),
        rows=found.rows,
        is_counted=found.is_counted,
        size_bytes=found.size_bytes,
        partitions=tuple(map(_partition, found.partitions)),
        largest_partition=None if largest is None else largest[0],
        largest_share=None if largest is None else round(largest[1], 4),
        is_skewed=found.is_skewed,
        versions=tuple(
            StateVersionJson(version=each.version, rows=each.rows, size_bytes=each.size_bytes)
            for each in found.growth
        ),
        not_decoded=_say(found.codec.what) if isinstance(found.codec, NotDecoded) else None,
    )


def _partition(part: PartitionRows) -> StatePartitionJson:
    rows = part.scan.rows
    if isinstance(rows, int):
        why = None
    else:
        why = _say(f"{rows.path}: {rows.reason}" if isinstance(rows, Unparsed) else rows.why)
    return StatePartitionJson(
        partition=part.store.partition,
        rows=rows if isinstance(rows, int) else None,
        why_not=why,
        size_bytes=part.store.size_bytes,
    )


def _row(row: FoundRow) -> StateRowJson:
    return StateRowJson(
        operator_id=row.operator_id,
        store=_say(row.store),
        partition=row.partition,
        key=json_value(row.key),
        value=json_value(row.value),
        since_version=row.since,
        or_earlier=row.is_older,
        key_bytes=row.key_bytes,
        value_bytes=row.value_bytes,
    )
