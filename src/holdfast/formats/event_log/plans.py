"""What the plan of a batch names: checkpoint and output mode, what state is made of, watermarks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

UUID = rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_STATE_INFO_BEGINS = b"state info [ checkpoint = "
_STATE_INFO = re.compile(rb"([^,\]]{1,4096}?)/state, runId = (" + UUID + rb")[^\]]{0,65536}\]")
"""What follows; with bounds, because a search of a hostile line must not be quadratic."""
_MOST_STATE_INFOS = 1_000
_MODE = re.compile(rb"[^,\]]{0,80}, (Append|Update|Complete),")
_ID = re.compile(r"#\d+L?(?:-T\d+ms)?")
"""What Spark adds to the name of a column in a plan: its number, and its watermark."""
_NODE = re.compile(r"\((\d{1,9})\) (\w+)")
_OPERATOR = re.compile(r"opId = (\d{1,9})")
_LEFT_OUT = re.compile(r"\.\.\. \d+ more field")
_MOST_NODES = 10_000
_WATERMARK = "EventTimeWatermark"
_LONGEST_PARTS = 1 << 14


class PlanParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a printed plan says of state, without the numbers of columns."""

    parts: Mapping[int, str] = msgspec.field(default_factory=dict)
    """By the id of a stateful operator, what it is computed from, as Spark prints it: aggregate
    functions, or the keys of both sides of a join."""
    watermarks: tuple[str, ...] = ()
    """Each as its column and its delay: `event_time 10 minutes`."""


def parse_plan(line: bytes, run_id: bytes) -> tuple[str | None, str | None]:
    """Return the checkpoint and the output mode that a plan names.

    Spark 3.5 prints some plans of a stream as if they were a batch's: checkpoint `<unknown>`,
    another run id and always `Append`. They tell nothing.
    """
    place = mode = None
    for info in _state_infos(line):
        if info[2] != run_id:
            continue
        place = place or info[1].decode("utf-8", "replace")
        if mode_after := _MODE.match(line, info.end()):
            mode = mode_after[1].decode().lower()
            break
    return place, mode


def _state_infos(line: bytes) -> Iterator[re.Match[bytes]]:
    at = 0
    for _ in range(_MOST_STATE_INFOS):
        at = line.find(_STATE_INFO_BEGINS, at)
        if at < 0:
            return
        at += len(_STATE_INFO_BEGINS)
        if found := _STATE_INFO.match(line, at):
            yield found


def parse_parts(plan: str) -> PlanParts | None:
    """Read what a plan says of state; None if it is not printed node by node, or not whole."""
    blocks = plan.split("\n\n")[: _MOST_NODES + 1]
    if len(blocks) > _MOST_NODES or _LEFT_OUT.search(plan):
        return None
    found = ((_NODE.match(each.lstrip()), each) for each in blocks)
    nodes = {int(named[1]): (named[2], each) for named, each in found if named is not None}
    if not nodes:
        return None
    parts: dict[int, str] = {}
    for number, (name, text) in nodes.items():
        operator = _OPERATOR.search(text)
        if operator is not None and name == "StateStoreSave":
            # Spark numbers a node right after the one that it reads.
            parts[int(operator[1])] = _line(nodes.get(number - 1, ("", ""))[1], "Functions")
        elif operator is not None and name == "StreamingSymmetricHashJoin":
            parts[int(operator[1])] = _join_keys(_line(text, "Arguments"))
    marks = (_line(text, "Arguments") for name, text in nodes.values() if name == _WATERMARK)
    return PlanParts(
        parts={at: each for at, each in parts.items() if 0 < len(each) <= _LONGEST_PARTS},
        watermarks=tuple(sorted(map(_watermark, marks))),
    )


def without_ids(text: str) -> str:
    """Return what Spark prints of an expression, without the numbers of its columns."""
    return _ID.sub("", text)


def _line(block: str, name: str) -> str:
    """Return what a node says under a name, without the numbers of columns; empty without it."""
    for line in block.splitlines():
        label, colon, value = line.partition(": ")
        if colon and label.partition(" ")[0] == name:
            return without_ids(value)
    return ""


def _join_keys(arguments: str) -> str:
    """Return the keys of both sides: `[a, t], [b, u], Inner, condition = …` has them first."""
    keys, comma, _ = arguments.partition("], ")
    others, end, _ = arguments[len(keys) + len(comma) :].partition("], ")
    return f"{keys}], {others}]" if comma and end else ""


def _watermark(arguments: str) -> str:
    """Return a column and its delay; from Spark 4 on, the id of the node comes before them."""
    column, _, delay = arguments.rpartition(", ")
    return f"{column.rpartition(', ')[2].partition(':')[0]} {delay}"
