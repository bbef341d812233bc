"""What a table of a stream with state must hold, in the form in which it is compared."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast.proof.kept_rows import (
    CLOSE,
    as_found_where_close,
    choose_kept,
    with_keys,
    without_keys,
)
from holdfast.proof.row_hash import quoted
from holdfast.proof.values import Fault
from holdfast.sinks.contents import SinkContents
from holdfast.sinks.sink import SinkSpec
from holdfast.spark.plans import Aggregation, Deduplication, Made
from holdfast.streams.batch_form import BatchForm, KeptState, NoBatchForm
from holdfast.streams.covered import Doubt
from holdfast.wording import count

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_AMBIGUOUS = (
    "{keys} with rows further apart than the delay of the watermark: whether Spark let a second "
    "one through depends on where batches ended"
)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """Both sides of a comparison."""

    expected: DataFrame
    found: DataFrame
    keys: tuple[str, ...]
    """The columns that name a row; none when only the complete row does."""
    doubts: tuple[Doubt, ...] = ()
    left_out: tuple[str, ...] = ()
    """What was not compared and need not be, one sentence each."""
    open_question: str = ""
    """What of the stream's own rows could not be compared: the table is not shown to be exact."""
    late_keys: int = 0
    """Keys of the table that only late rows have: they are no other writer's."""


def kept_by_state(sink: SinkSpec, held: SinkContents, form: BatchForm) -> Kept | NoBatchForm:
    """Return what a table must hold, and what it holds, of a stream with state.

    Args:
        sink: The table.
        held: What it holds.
        form: The stream as a batch job; it has state.
    """
    state = form.state
    assert state is not None
    found: Kept | NoBatchForm
    if isinstance(state.shape, Aggregation):
        found = _aggregated(sink, held, form, state=state)
    else:
        found = _deduplicated(sink, held, form, shape=state.shape)
    if isinstance(found, NoBatchForm) or not state.late:
        return found
    told = f"{count(state.late, 'row')} that came after their watermark: Spark dropped them as late"
    late_keys = 0
    if found.keys and state.given_late is not None:
        others = without_keys(found.found, found.expected, keys=found.keys)
        only_late = with_keys(others, held.comparable(state.given_late), keys=found.keys)
        late_keys = int(only_late.count())
    return replace(found, left_out=(told, *found.left_out), late_keys=late_keys)


def _of_known_times(
    kept: Kept, held: SinkContents, state: KeptState, *, by: tuple[str, ...]
) -> Kept:
    """Return both sides without the keys of which it is not known which rows were late.

    Args:
        kept: Both sides.
        held: What the table holds.
        state: Of the query.
        by: The columns that name a row.
    """
    if state.unknown is None or state.unknown_until_ms is None:
        return kept
    until = datetime.fromtimestamp(state.unknown_until_ms / 1000, UTC)
    told = (
        f"results up to {until:%Y-%m-%d %H:%M:%S} UTC: the checkpoint no longer has the watermarks "
        "of the batches that gave them"
    )
    others = held.comparable(state.unknown)
    return replace(
        kept,
        expected=without_keys(kept.expected, others, keys=by),
        found=without_keys(kept.found, others, keys=by),
        open_question="; ".join(filter(None, (told, kept.open_question))),
    )


def has_repeated(rows: DataFrame, keys: tuple[str, ...]) -> bool:
    """Return whether a key comes more than once."""
    counted = rows.groupBy(*map(quoted, keys)).count()
    return bool(counted.where("count > 1").limit(1).collect())


def _aggregated(
    sink: SinkSpec, held: SinkContents, form: BatchForm, *, state: KeptState
) -> Kept | NoBatchForm:
    keys, shape = tuple(sink.keys), state.shape
    assert isinstance(shape, Aggregation)
    is_replaced = shape.output_mode != "append"
    if is_replaced and (refused := _check_keys(keys, form, shape)):
        return NoBatchForm(refused)
    if not is_replaced and keys and sink.sequence_by is None and has_repeated(form.df, keys):
        return NoBatchForm("keys come more than once, and without sequence_by the last one counts")
    rows = form.df if is_replaced else held.newest(form.df)
    wanted = held.comparable(rows)
    named = tuple(key for key in keys if key in wanted.columns) or tuple(
        name for name, how in shape.columns.items() if how is Made.KEY
    )
    if not named and state.unknown is not None:
        return NoBatchForm("it keeps state, and no column of the table says which group a row is")
    rounded = sorted(name for name, how in shape.columns.items() if how is Made.ROUNDED)
    kept = Kept(
        expected=_as_rounded(wanted, held.rows, shape, keys=named),
        found=held.rows,
        keys=named if keys else (),
        doubts=tuple(_doubts(sink, shape, rounded)),
        left_out=tuple(
            f"the digits after the ninth of {name}, which depend on the order of rows"
            for name in rounded
        ),
    )
    return _of_known_times(kept, held, state, by=named)


def _as_rounded(
    wanted: DataFrame, found: DataFrame, shape: Aggregation, *, keys: tuple[str, ...]
) -> DataFrame:
    """Return expected rows with the table's floats where only the order of rows differs."""
    floats = {
        name: CLOSE if how is Made.ROUNDED else 0.0
        for name, how in shape.columns.items()
        if how in (Made.ROUNDED, Made.ZERO) and _is_float(wanted, name)
    }
    return as_found_where_close(wanted, found, keys=keys, columns=floats) if keys else wanted


def _check_keys(keys: tuple[str, ...], form: BatchForm, shape: Aggregation) -> str:
    """Say why a table does not hold the last result of each group; empty when it does."""
    mode = f"in output mode {shape.output_mode}"
    if not keys:
        return f"it keeps state, and {mode} every result of a group is appended: give the sink keys"
    others = [key for key in keys if shape.columns.get(key) is not Made.KEY]
    if others:
        return (
            f"it keeps state, and the key {others[0]} of the table is not one of its groups: older "
            "results of a group stay in the table"
        )
    if has_repeated(form.df, keys):
        return f"it keeps state, and {mode} several of its groups have one key in the table"
    return ""


def _doubts(sink: SinkSpec, shape: Aggregation, rounded: list[str]) -> list[Doubt]:
    altered = frozenset({Fault.ALTERED})
    found = [
        Doubt(f"{name} is a sum of floats, whose last digits depend on the order of rows", altered)
        for name in rounded
    ]
    order = sink.sequence_by
    is_replaced = order is not None and shape.output_mode != "append"
    if is_replaced and shape.columns.get(str(order)) is not Made.COUNT:
        told = f"where {order} did not grow with a batch, the sink may keep an older result"
        found.append(Doubt(told, altered))
    return found


def _is_float(df: DataFrame, name: str) -> bool:
    return df.schema[name].dataType.simpleString() in ("float", "double")


def _deduplicated(
    sink: SinkSpec, held: SinkContents, form: BatchForm, *, shape: Deduplication
) -> Kept | NoBatchForm:
    state = form.state
    assert state is not None
    if sink.keys and set(sink.keys) != set(shape.keys):
        return NoBatchForm(
            "it keeps state, and the table is merged by other keys than dropDuplicates has"
        )
    others = [name for name in form.df.columns if name not in shape.keys]
    told = f"which of several rows of one key was kept: {', '.join(others)} can be of any of them"
    kept = _of_known_times(
        Kept(
            expected=held.comparable(form.df),
            found=held.rows,
            keys=shape.keys,
            left_out=(told,) if others else (),
        ),
        held,
        state,
        by=shape.keys,
    )
    if shape.delay_ms is not None:
        kept = _remembered_once(kept, held, form, shape=shape)
    return replace(kept, expected=choose_kept(kept.expected, kept.found, keys=shape.keys))


def _remembered_once(
    kept: Kept, held: SinkContents, form: BatchForm, *, shape: Deduplication
) -> Kept:
    """Return both sides without the keys that can have been forgotten and let through again."""
    assert form.state is not None
    again = _seen_again(form.state, shape)
    number = again.count()
    if not number:
        return kept
    told = _AMBIGUOUS.format(keys=count(number, "key"))
    unclear = held.comparable(with_keys(form.df, again, keys=shape.keys))
    return replace(
        kept,
        expected=without_keys(kept.expected, unclear, keys=shape.keys),
        found=without_keys(kept.found, unclear, keys=shape.keys),
        open_question="; ".join(filter(None, (kept.open_question, told))),
    )


def _seen_again(state: KeptState, shape: Deduplication) -> DataFrame:
    """Return the keys that can have been forgotten and remembered again within their rows."""
    from pyspark.sql import functions as F

    places = [f"c{at}" for at in shape.key_places]
    time = F.unix_micros(F.col(f"c{shape.event_time}"))
    spans = state.entering.groupBy(*places).agg(F.min(time).alias("first"), F.max(time).alias("at"))
    assert shape.delay_ms is not None
    again = spans.where(F.col("at") - F.col("first") > shape.delay_ms * 1000)
    return again.select(*places).toDF(*shape.keys)
