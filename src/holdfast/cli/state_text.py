"""`holdfast state` for people: the answer, the rows asked for, a table, growth. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence

from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state.row_codec import RowCodec
from holdfast.checkpoint.state.unsafe_row import NotDecoded
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.cli.state_value import say_value
from holdfast.cli.table import columns
from holdfast.evidence.state import provider_of
from holdfast.evidence.state_rows import FoundRow, Growth, OperatorRows, StateRows
from holdfast.wording import count, size

_SHOWN_VERSIONS = 10
_SHOWN_PROBLEMS = 5


def render_state_text(checkpoint: Checkpoint, found: StateRows) -> list[str]:
    """Return the lines to print."""
    if not found.stores:
        return [say_state(checkpoint, found)]
    return [
        say_state(checkpoint, found),
        *_rows(found),
        "",
        *columns([_HEAD, *map(_store_row, found.stores)]),
        *([] if found.question.conditions else _growth(found)),
        *_problems(found),
        "",
        *spark_reader(checkpoint, found),
    ]


def say_state(checkpoint: Checkpoint, found: StateRows) -> str:
    """Return the answer in one line."""
    if checkpoint.is_empty or checkpoint.is_file:
        return f"There is no checkpoint at {checkpoint.location}."
    if not checkpoint.state:
        return f"There is no state in {checkpoint.location}: the query has no stateful operator."
    if not found.stores:
        return f"There is no state yet in {checkpoint.location}: version {found.version} is empty."
    return _say_key(found) if found.question.conditions else _say_all(found)


def _say_rows(found: StateRows) -> str:
    unknown = len(found.uncounted) + len(found.absent)
    if not unknown:
        return count(found.rows, "row")
    stores = sum(len(each.partitions) for each in found.stores) + len(found.absent)
    rows = f"at least {count(found.rows, 'row')}" if found.rows else "rows not known"
    return f"{rows} ({unknown:,} of {stores:,} stores not counted)"


def _say_all(found: StateRows) -> str:
    operators = len({each.operator.operator_id for each in found.stores})
    total = sum(each.size_bytes for each in found.stores)
    said = f"{count(operators, 'operator')}, {_say_rows(found)}, {size(total)}"
    said = f"{said}; version {found.version}."
    for each in found.stores:
        if each.is_skewed and each.largest is not None:
            number, share = each.largest
            name = f"Operator {each.operator.operator_id}{_store_name(each)}"
            said += f" {name} is skewed: partition {number} has {_percent(share)} of the rows."
    return said


def _say_key(found: StateRows) -> str:
    asked = " and ".join(each.typed for each in found.question.conditions)
    left = len(found.unsearched) + len(found.absent)
    not_searched = f" {count(left, 'store')} could not be searched." if left else ""
    if not found.matching:
        start = f"No row of {found.rows:,} has" if not left else "Not known whether a row has"
        return f"{start} the key {asked}; version {found.version}.{not_searched}{_columns(found)}"
    have = "has" if found.matching == 1 else "have"
    said = f"{count(found.matching, 'row')} of {found.rows:,} {have} the key {asked}"
    if found.matching > 1 or not found.found:
        return f"{said}; version {found.version}.{not_searched}"
    (row,) = found.found
    where = f"operator {row.operator_id} ({row.operator or 'unknown'}), partition {row.partition}"
    return f"{said}: {where}, {_since(row)}; version {found.version}.{not_searched}"


def _columns(found: StateRows) -> str:
    """Return which columns there are, if one was asked for that no key has."""
    codecs = [each.codec for each in found.stores if isinstance(each.codec, RowCodec)]
    there = list(dict.fromkeys(name for each in codecs for name, _ in each.key_types))
    for each in found.question.conditions:
        if codecs and not any(map(each.is_about, there)):
            shown = ", ".join(name[:60] for name in there[:20]) or "none"
            return f" No key has a column {each.name}; there are: {shown}."
    return ""


def _since(row: FoundRow) -> str:
    return f"since version {row.since}{' or earlier' if row.is_older else ''}"


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _store_name(found: OperatorRows) -> str:
    return "" if found.store == "default" else f", store {found.store},"


def _rows(found: StateRows) -> list[str]:
    shown = choose_rows(found)
    if not shown:
        return []
    lines = [""] if found.question.conditions else ["", "  Examples:"]
    for row in shown:
        store = "" if row.store == "default" else f" {row.store}"
        where = f"{row.operator_id}/{row.partition}{store}"
        taken = f"{row.key_bytes + row.value_bytes:,} B"
        taken = taken if row.since is None else f"{_since(row)}, {taken}"
        lines.append(f"  {where}  {say_value(row.key)} -> {say_value(row.value)}  ({taken})")
    if found.question.conditions and found.matching > len(shown):
        lines.append(f"  and {found.matching - len(shown):,} more (--limit)")
    return lines


def choose_rows(found: StateRows) -> Sequence[FoundRow]:
    """Return the rows to show: all that were asked for, or examples of each operator."""
    most = found.question.most
    if found.question.conditions:
        return found.found[:most]
    chosen: list[FoundRow] = []
    for each in found.stores:
        own = (each.operator.operator_id, each.store)
        rows = [row for row in found.found if (row.operator_id, row.store) == own]
        chosen += rows[:most]
    return chosen


_HEAD = (
    "  operator", "name", "store", "provider", "rows", "size", "partitions", "largest partition",
)  # fmt: skip


def _store_row(found: OperatorRows) -> tuple[str, ...]:
    largest = found.largest
    more = f"{found.rows:,} and more" if found.rows else "not known"
    rows = f"{found.rows:,}" if found.is_counted else more
    return (
        f"  {found.operator.operator_id}",
        found.operator.name or "unknown",
        found.store,
        provider_of(found.operator) or "unknown",
        rows,
        size(found.size_bytes),
        f"{len(found.partitions):,}",
        "none" if largest is None else f"{largest[0]} ({_percent(largest[1])})",
    )


def _growth(found: StateRows) -> list[str]:
    lines: list[str] = []
    for each in found.stores:
        versions = each.growth
        if not versions:
            continue
        rows = [("  version", "rows", "change", "files of the version")]
        shown = _ends(versions)
        before: Growth | None = None
        for version in shown:
            rows.append(_growth_row(version, before))
            before = version
        name = f"operator {each.operator.operator_id}{_store_name(each).rstrip(',')}"
        left = len(versions) - len(shown)
        more = f" ({left:,} versions between them are not shown)" if left else ""
        lines += ["", f"  Growth of {name}{more}:", *columns(rows)]
    return lines


def _ends(versions: tuple[Growth, ...]) -> tuple[Growth, ...]:
    """Return the oldest and the newest versions."""
    if len(versions) <= _SHOWN_VERSIONS:
        return versions
    return (versions[0], *versions[1 - _SHOWN_VERSIONS :])


def _growth_row(found: Growth, before: Growth | None) -> tuple[str, str, str, str]:
    rows = "not known" if found.rows is None else f"{found.rows:,}"
    known = before is not None and before.rows is not None and found.rows is not None
    change = f"{found.rows - before.rows:+,}" if known else ""  # type: ignore[union-attr,operator]
    return f"  {found.version}", rows, change, size(found.size_bytes)


def _problems(found: StateRows) -> list[str]:
    lines = [f"  missing  {path}" for path in found.absent]
    damaged = {each.path: each for each in found.damaged}
    lines += [f"  damaged  {each.path}: {each.reason}" for each in damaged.values()]
    for part in found.uncounted:
        if not isinstance(part.scan.rows, int | Unparsed):
            lines.append(f"  not counted  {part.store.directory}: {part.scan.rows.why}")
    left = len(lines) - _SHOWN_PROBLEMS
    shown = lines[:_SHOWN_PROBLEMS] + ([f"  and {left:,} more"] if left > 0 else [])
    for each in found.stores:
        if isinstance(each.codec, NotDecoded):
            name = f"operator {each.operator.operator_id}, store {each.store}"
            shown.append(f"  not decoded  {name}: {each.codec.what}")
    return ["", *shown] if shown else []


def spark_reader(checkpoint: Checkpoint, found: StateRows) -> list[str]:
    """Return how Spark itself reads the rows, for each operator."""
    lines = ["To read every row with Spark 4.0 or later:"]
    where = json.dumps(str(checkpoint.location), ensure_ascii=False)
    for each in {each.operator.operator_id: each for each in found.stores}.values():
        options = f'.option("operatorId", {each.operator.operator_id})'
        if each.operator.name == "symmetricHashJoin":
            options += '.option("joinSide", "left")'
        elif (each.operator.name or "").startswith("transformWithState"):
            options += '.option("stateVarName", "NAME")'
        lines.append(f'  spark.read.format("statestore"){options}.load({where})')
    return lines
