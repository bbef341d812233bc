"""What to do about a table that is not exact: one sentence, with the command."""

from __future__ import annotations

import json
from shlex import quote

from holdfast.proof.values import PIPELINE, Comparison
from holdfast.sinks.sink import Capability, SinkSpec
from holdfast.streams.backfill.positions import decode_position
from holdfast.streams.covered import Covered
from holdfast.streams.place import Place

BEGAN = "where it began is not known"


def advise(
    sink: SinkSpec, compared: Comparison, covered: Covered, *, place: Place, end: str
) -> str:
    """Return what to do about a table; empty when it is exact.

    Args:
        sink: The table.
        compared: How it differs.
        covered: What it must hold.
        place: Of the stream.
        end: Where the sink's ledger row ends.
    """
    if compared.exact:
        return ""
    only_lost = not (compared.duplicated or compared.altered or compared.unexpected)
    # A backfill of a stream with state would have no state to go on from.
    is_merged = bool(sink.keys) and sink.sequence_by is not None and covered.form.state is None
    backfill = _backfill(place.stream, covered, end) if only_lost and is_merged else None
    if backfill is not None:
        return (
            "The rows are merged by key, so writing all of them again restores what is lost: "
            f"{backfill}"
        )
    where, output = "", "truncate"
    if Capability.SETTLE not in sink.capabilities:
        # Nothing can be taken out of it.
        where, output = ", into another one that you name in the code afterwards", "new-table"
    return (
        f"Find out what changed the table. To compute it again from the source{where}, stop the "
        f"stream and run: {_reset(place, covered, output)}"
    )


def advise_unknown(stream: str, reason: str) -> str:
    """Return what to do when it is not known where a stream began; empty for other reasons."""
    if BEGAN not in reason:
        return ""
    command = f"holdfast prove {PIPELINE} {stream} --from earliest"
    return (
        f"Say where the stream began to read. If it was the oldest record: {command}. If not, give "
        'the offset of each partition instead of earliest, such as \'{"topic":{"0":41}}\'.'
    )


def _backfill(stream: str, covered: Covered, end: str) -> str | None:
    """Return the command that writes everything that a sink must hold again; None if none does."""
    ends = decode_position(end)
    if len(covered.ranges) != 1 or ends is None or set(ends) != set(covered.ranges[0]):
        return None
    starts, stops = {}, {}
    for source, found in covered.ranges[0].items():
        span = found.given(ends[source])
        # The first entry of a seeded log of files has what was read before.
        is_log = ends[source].log_index is not None
        if span is None or (covered.is_seeded and is_log):
            return None
        starts[source], stops[source] = span
    first, last = (
        json.dumps(next(iter(each.values())) if len(each) == 1 else each)
        for each in (starts, stops)
    )
    options = f"--from {quote(first)} --to {quote(last)} --execute"
    return f"holdfast backfill {PIPELINE} {stream} {options}"


def _reset(place: Place, covered: Covered, output: str) -> str:
    root = f" --root {quote(place.plan_root)}" if place.plan_root else ""
    start = "earliest"
    ranges = covered.ranges[0] if len(covered.ranges) == 1 else {}
    (found,) = ranges.values() if len(ranges) == 1 else (None,)
    if found is not None and found.begins_later is not None:
        start = quote(json.dumps(found.begins_later))
    return f"holdfast plan reset {place.stream}{root} --from {start} --output {output} --cascade"
