"""What the plan of a stateful batch names: its checkpoint and its output mode."""

from __future__ import annotations

import re
from collections.abc import Iterator

UUID = rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_STATE_INFO_BEGINS = b"state info [ checkpoint = "
_STATE_INFO = re.compile(rb"([^,\]]{1,4096}?)/state, runId = (" + UUID + rb")[^\]]{0,65536}\]")
"""What follows; with bounds, because a search of a hostile line must not be quadratic."""
_MOST_STATE_INFOS = 1_000
_MODE = re.compile(rb"[^,\]]{0,80}, (Append|Update|Complete),")


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
